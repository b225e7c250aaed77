/* SPDX-License-Identifier: Apache-2.0 */
#include "fatbin.h"

#include <elf.h>
#include <errno.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/diag.h"

static int bad(struct gpubpf_diag *diag, const char *what)
{
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "CUDA image: %s", what);
}

static uint64_t get(const uint8_t *at, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, at, n); /* containers are little-endian, as every host of a driver is */
	return v;
}

int fatbin_walk(const void *data, size_t size, int (*fn)(void *arg, const struct fatbin_entry *entry), void *arg,
		struct gpubpf_diag *diag)
{
	const char *why = NULL;
	int err = fatbin_each(data, size, fn, arg, &why);

	return why ? bad(diag, why) : err;
}

int fatbin_extract(const struct fatbin_entry *entry, char **data, size_t *size, struct gpubpf_diag *diag)
{
	size_t n = entry->plain_size ? entry->plain_size : entry->size;
	char *plain;
	bool good;

	if (n > CUDA_PTX_MAX)
		return bad(diag, "an entry is larger than 512 MiB");
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
		return bad(diag, "an entry does not decompress to its stated size");
	}
	plain[n] = 0;
	*data = plain;
	*size = n;
	return 0;
}

/* PTX text, possibly with NUL padding behind it. */
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

/* ptxas -lineinfo keeps the PTX in the cubin: lines separated by NUL. */
static int cubin_ptx(const void *data, size_t size, char **text, size_t *text_size, struct gpubpf_diag *diag)
{
	const uint8_t *image = data;
	Elf64_Ehdr ehdr;
	Elf64_Shdr names, section;
	static const char wanted[] = ".nv_debug_ptx_txt";

	if (size < sizeof(ehdr))
		return bad(diag, "the cubin is cut off");
	memcpy(&ehdr, image, sizeof(ehdr));
	if (ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_shentsize != sizeof(section) ||
	    ehdr.e_shoff > size || ehdr.e_shnum > (size - ehdr.e_shoff) / sizeof(section) ||
	    ehdr.e_shstrndx >= ehdr.e_shnum)
		return bad(diag, "the cubin's section table is broken");
	memcpy(&names, image + ehdr.e_shoff + ehdr.e_shstrndx * sizeof(names), sizeof(names));
	if (names.sh_offset > size || names.sh_size > size - names.sh_offset)
		return bad(diag, "the cubin's section names are broken");
	for (size_t i = 0; i < ehdr.e_shnum; i++) {
		memcpy(&section, image + ehdr.e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_name > names.sh_size || names.sh_size - section.sh_name < sizeof(wanted) ||
		    memcmp(image + names.sh_offset + section.sh_name, wanted, sizeof(wanted)))
			continue;
		if (section.sh_offset > size || section.sh_size > size - section.sh_offset)
			return bad(diag, "the cubin's PTX section is broken");
		*text = malloc(section.sh_size + 1);
		if (!*text)
			return -ENOMEM;
		memcpy(*text, image + section.sh_offset, section.sh_size);
		for (size_t c = 0; c < section.sh_size; c++)
			if (!(*text)[c])
				(*text)[c] = '\n';
		(*text)[section.sh_size] = 0;
		*text_size = section.sh_size;
		return 0;
	}
	gpubpf_diag_remedy(diag, "build the program with PTX inside (-gencode code=compute_XX) or with -lineinfo");
	gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "CUDA image: machine code only, no PTX inside");
	return -ENOENT;
}

/* PTX of the modules that a program was linked from, one text behind the other. A module without (of a library, say)
 * may be none that the wanted kernel needs: the injector sees. */
static int parts_ptx(const void *data, size_t size, uint32_t sm, char **text, size_t *text_size,
		     struct gpubpf_diag *diag)
{
	char *all = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&all, &n);
	int err = f ? 0 : -ENOMEM;

	for (; data && !err; data = fatbin_next(data, size, &size)) {
		struct fatbin_choice choice;
		const char *why = NULL;
		char *part;
		size_t part_size;

		if (fatbin_choose(data, size, sm, &choice, &why) < 0)
			err = bad(diag, why);
		if (err < 0 || !choice.ptx.data)
			continue;
		err = fatbin_extract(&choice.ptx, &part, &part_size, diag);
		if (err < 0)
			continue;
		fprintf(f, "%.*s\n", (int)strnlen(part, part_size), part);
		free(part);
		if (ftell(f) > CUDA_PTX_MAX)
			err = bad(diag, "the modules that it was linked from have more than 512 MiB of PTX");
	}
	if (f && fclose(f) && !err)
		err = -ENOMEM;
	if (!err && !n)
		err = gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "CUDA image: none of the modules that it was linked "
				      "from (-rdc) holds PTX that sm_%u can run", sm);
	if (err < 0) {
		free(all);
		return err;
	}
	*text = all;
	*text_size = n;
	return 0;
}

int cuda_image_ptx(const void *data, size_t size, uint32_t sm, char **text, size_t *text_size,
		   struct gpubpf_diag *diag)
{
	struct fatbin_choice choice;
	const void *parts;
	const char *why;
	char *elf;
	size_t elf_size, parts_size;
	int err;

	if (size >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG))
		return cubin_ptx(data, size, text, text_size, diag);
	if (size < 4 || get(data, 4) != FATBIN_MAGIC)
		return copy_text(data, size, text, text_size);
	if (fatbin_choose(data, size, sm, &choice, &why) < 0)
		return bad(diag, why);
	if (choice.ptx.data)
		return fatbin_extract(&choice.ptx, text, text_size, diag);
	parts = fatbin_next(data, size, &parts_size);
	if (parts)
		return parts_ptx(parts, parts_size, sm, text, text_size, diag);
	if (!choice.elf.data) {
		gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "CUDA image: no entry that sm_%u can run", sm);
		return -ENOENT;
	}
	err = fatbin_extract(&choice.elf, &elf, &elf_size, diag);
	if (err < 0)
		return err;
	err = cubin_ptx(elf, elf_size, text, text_size, diag);
	free(elf);
	return err;
}
