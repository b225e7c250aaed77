/* SPDX-License-Identifier: Apache-2.0 */
#include "fatbin.h"

#include <elf.h>
#include <errno.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/model/diag.h"
#include "kept_ptx.h"

static int refuse(struct gpubpf_diag *diag, const char *what)
{
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "CUDA image: %s", what);
}

static uint64_t read_le(const uint8_t *at, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, at, n); /* containers are little-endian, and so are all hosts that the driver supports */
	return v;
}

int fatbin_walk(const void *data, size_t size, int (*fn)(void *arg, const struct fatbin_entry *entry), void *arg,
		struct gpubpf_diag *diag)
{
	const char *why = NULL;
	int err = fatbin_each(data, size, fn, arg, &why);

	return why ? refuse(diag, why) : err;
}

int fatbin_extract(const struct fatbin_entry *entry, char **data, size_t *size, struct gpubpf_diag *diag)
{
	size_t n = entry->plain_size ? entry->plain_size : entry->size;
	char *plain;
	bool good;

	if (n > CUDA_PTX_MAX)
		return refuse(diag, "an entry is larger than 512 MiB");
	plain = malloc(n + 1);
	if (!plain)
		return -ENOMEM;
	if (!entry->plain_size) {
		memcpy(plain, entry->data, n);
		good = true;
	} else if (entry->flags & FATBIN_ZSTD) {
		good = ZSTD_decompress(plain, n, entry->data, entry->size) == n;
	} else {
		good = entry->size <= LZ4_MAX_INPUT_SIZE &&
		       LZ4_decompress_safe(entry->data, plain, entry->size, n) == (int)n;
	}
	if (!good) {
		free(plain);
		return refuse(diag, "an entry does not decompress to its stated size");
	}
	plain[n] = 0;
	*data = plain;
	*size = n;
	return 0;
}

/* Copies PTX text without the NUL padding at its end. */
static int copy_text(const void *data, size_t size, char **text, size_t *text_size)
{
	size_t n = strnlen(data, size);
	char *copy = malloc(n + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, n);
	copy[n] = 0;
	*text = copy;
	*text_size = n;
	return 0;
}

/* search in a fat binary for the PTX from which ptxas compiled the chosen machine code */
struct source {
	const struct fatbin_entry *elf;
	uint32_t arch;           /* virtual architecture; 0: unknown */
	struct fatbin_entry ptx; /* data is NULL if no PTX is found */
	bool unclear;
};

/*
 * Accepts PTX only for the virtual architecture of the machine code: PTX for another architecture may be different code,
 * selected by __CUDA_ARCH__. A cubin states its virtual architecture without a suffix. If that number equals the
 * machine code's, the suffix must also equal that of the machine code, because nvcc gives both the same suffix
 * (compute_90a for sm_90a).
 */
static int compare_source(void *arg, const struct fatbin_entry *entry)
{
	struct source *s = arg;
	uint32_t arch = s->arch ? s->arch : s->elf->arch;

	if (entry->kind != FATBIN_PTX || entry->arch != arch ||
	    (arch == s->elf->arch && fatbin_suffix(entry) != fatbin_suffix(s->elf)))
		return 0;
	s->unclear |= s->ptx.data && fatbin_suffix(entry) != fatbin_suffix(&s->ptx);
	s->ptx = *entry;
	return 0;
}

/* suffix of the entry's architecture as a string, such as "a" for sm_90a; "" if there is no suffix */
#define SUFFIX(entry) ((const char[2]){ fatbin_suffix(entry) })

static int refuse_source(const struct fatbin_chosen *chosen, uint32_t arch, struct gpubpf_diag *diag)
{
	const struct fatbin_entry *elf = &chosen->elf, *ptx = &chosen->ptx;
	bool own = !arch || arch == elf->arch;

	gpubpf_diag_remedy(diag, "build it with -gencode arch=compute_%u%s,code=[sm_%u%s,compute_%u%s]", elf->arch,
			   SUFFIX(elf), elf->arch, SUFFIX(elf), elf->arch, SUFFIX(elf));
	gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
			"CUDA image: it lacks the PTX for compute_%u%s of its machine code for sm_%u%s; "
			"its PTX for compute_%u%s may be different code",
			own ? elf->arch : arch, own ? SUFFIX(elf) : "", elf->arch, SUFFIX(elf), ptx->arch, SUFFIX(ptx));
	return -ENOENT;
}

/*
 * Returns the PTX from which ptxas compiled the machine code: another entry of the container, or text inside the cubin.
 */
static int copy_source_ptx(const void *data, size_t size, const struct fatbin_chosen *chosen, char **text,
			   size_t *text_size, struct gpubpf_diag *diag)
{
	struct source source = { .elf = &chosen->elf };
	size_t elf_size;
	char *elf;
	int err = fatbin_extract(&chosen->elf, &elf, &elf_size, diag);

	if (err < 0)
		return err;
	source.arch = cubin_virtual(elf, elf_size);
	err = fatbin_walk(data, size, compare_source, &source, diag);
	if (!err && source.ptx.data && !source.unclear)
		err = fatbin_extract(&source.ptx, text, text_size, diag);
	else if (!err)
		err = cubin_ptx(elf, elf_size, text, text_size, chosen->ptx.data ? NULL : diag);
	if (err < 0 && err != -ENOMEM && chosen->ptx.data)
		err = refuse_source(chosen, source.arch, diag);
	free(elf);
	return err;
}

/* Returns the PTX of one container. Returns -ENOENT and a diagnostic if the container has no usable PTX. */
static int copy_container_ptx(const void *data, size_t size, uint32_t sm, char **text, size_t *text_size,
			      struct gpubpf_diag *diag)
{
	struct fatbin_chosen chosen;
	const char *why = NULL;

	if (fatbin_choose(data, size, sm, &chosen, &why) < 0)
		return refuse(diag, why);
	if (chosen.elf.data ? chosen.is_elf_ambiguous : chosen.is_ptx_ambiguous) {
		gpubpf_diag_remedy(diag, "build the program for only one of the two, for example sm_90 or sm_90a");
		gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				"CUDA image: it has code for %s_%u both with and without architecture-specific features, and gpubpf cannot know which of the two the driver runs",
				chosen.elf.data ? "sm" : "compute", chosen.elf.data ? chosen.elf.arch : chosen.ptx.arch);
		return -ENOENT;
	}
	if (chosen.elf.data)
		return copy_source_ptx(data, size, &chosen, text, text_size, diag);
	if (chosen.ptx.data)
		return fatbin_extract(&chosen.ptx, text, text_size, diag);
	gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
			"CUDA image: it has neither PTX nor machine code that sm_%u can run (LTO-IR alone, which the "
			"driver compiles itself, cannot have a twin)",
			sm);
	return -ENOENT;
}

/*
 * Concatenates the PTX of the modules from which nvcc linked an image (-rdc). Skips a module without PTX, such as a
 * module of a library, because the GPU kernel may not need that module. If the GPU kernel does need it, the injector
 * refuses the kernel later.
 */
static int copy_parts_ptx(const void *data, size_t size, uint32_t sm, char **text, size_t *text_size,
			  struct gpubpf_diag *diag)
{
	struct gpubpf_diag last;
	char *all = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&all, &n);
	int err = f ? 0 : -ENOMEM;

	gpubpf_diag_init(&last);
	for (; data && !err; data = fatbin_next(data, size, &size)) {
		char *part;
		size_t part_size;

		err = copy_container_ptx(data, size, sm, &part, &part_size, &last);
		if (!err) {
			fprintf(f, "%.*s\n", (int)strnlen(part, part_size), part);
			free(part);
		}
		if (ftell(f) > CUDA_PTX_MAX)
			err = refuse(&last, "the linked modules have more than 512 MiB of PTX");
		if (err == -ENOENT)
			err = 0;
	}
	if (f && fclose(f) && !err)
		err = -ENOMEM;
	if (err < 0 && err != -ENOMEM)
		*diag = last;
	if (!err && !n) {
		gpubpf_diag_remedy(diag, "%s", last.remedy);
		err = gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				      "none of the linked modules (-rdc) has PTX for sm_%u: %s", sm, last.what);
	}
	if (err < 0) {
		free(all);
		return err;
	}
	*text = all;
	*text_size = n;
	return 0;
}

int cuda_image_ptx(const void *data, size_t size, uint32_t sm, char **text, size_t *text_size, struct gpubpf_diag *diag)
{
	const void *parts;
	size_t parts_size;

	if (size >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG))
		return cubin_ptx(data, size, text, text_size, diag);
	if (size < 4 || read_le(data, 4) != FATBIN_MAGIC)
		return copy_text(data, size, text, text_size);
	parts = fatbin_next(data, size, &parts_size);
	return parts ? copy_parts_ptx(parts, parts_size, sm, text, text_size, diag) :
		       copy_container_ptx(data, size, sm, text, text_size, diag);
}
