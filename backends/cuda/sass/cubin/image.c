/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/image/fatbin.h"
#include "core/model/diag.h"
#include "core/wire/caps.h"
#include "cubin.h"

struct walk {
	uint32_t sm;
	sass_image_fn *fn;
	void *arg;
	struct gpubpf_diag *diag;
};

/* Is the cubin relocatable? Such a cubin is input of a linker and never runs. The image also contains the linked
 * cubin. */
static bool is_relocatable(const void *data, size_t size)
{
	Elf64_Ehdr head;

	if (size < sizeof(head))
		return false;
	memcpy(&head, data, sizeof(head));
	return !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_machine == EM_CUDA && head.e_type == ET_REL;
}

static int visit_cubin(const struct walk *w, const void *data, size_t size)
{
	return is_relocatable(data, size) ? 0 : w->fn(w->arg, data, size, w->diag);
}

static int visit_entry(void *arg, const struct fatbin_entry *e)
{
	const struct walk *w = arg;
	size_t size;
	char *data;
	int err;

	if (e->kind != FATBIN_ELF || (w->sm && e->arch != w->sm))
		return 0;
	if (!e->plain_size)
		return visit_cubin(w, e->data, e->size);
	err = fatbin_extract(e, &data, &size, w->diag);
	if (err < 0)
		return err;
	err = visit_cubin(w, data, size);
	free(data);
	return err;
}

/* Walks consecutive fatbin containers. */
static int walk_containers(struct walk *w, const void *data, size_t size)
{
	int err = 0;

	while (!err && data && size) {
		err = fatbin_walk(data, size, visit_entry, w, w->diag);
		data = fatbin_next(data, size, &size);
	}
	return err;
}

/* Walks the fatbin containers in section .nv_fatbin of a host executable or library, where nvcc stores them. */
static int walk_host_file(struct walk *w, const uint8_t *data, size_t size)
{
	Elf64_Shdr names, head;
	Elf64_Ehdr file;

	memcpy(&file, data, sizeof(file));
	if (file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_shentsize != sizeof(head) || file.e_shoff > size ||
	    file.e_shnum > (size - file.e_shoff) / sizeof(head) || file.e_shstrndx >= file.e_shnum)
		return 0;
	memcpy(&names, data + file.e_shoff + file.e_shstrndx * sizeof(names), sizeof(names));
	if (names.sh_offset > size || names.sh_size > size - names.sh_offset)
		return 0;
	for (uint32_t i = 0; i < file.e_shnum; i++) {
		static const char name[] = ".nv_fatbin";
		int err;

		memcpy(&head, data + file.e_shoff + i * sizeof(head), sizeof(head));
		if (head.sh_name > names.sh_size || names.sh_size - head.sh_name < sizeof(name) ||
		    memcmp(data + names.sh_offset + head.sh_name, name, sizeof(name)) || head.sh_offset > size ||
		    head.sh_size > size - head.sh_offset)
			continue;
		err = walk_containers(w, data + head.sh_offset, head.sh_size);
		if (err)
			return err;
	}
	return 0;
}

int sass_image_each(const void *image, size_t size, uint32_t sm, sass_image_fn *fn, void *arg, struct gpubpf_diag *diag)
{
	struct walk w = { sm, fn, arg, diag };
	Elf64_Ehdr head;
	uint32_t magic = 0;

	memcpy(&magic, image, size < sizeof(magic) ? size : sizeof(magic));
	if (magic == FATBIN_MAGIC)
		return walk_containers(&w, image, size);
	if (size < sizeof(head))
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "CUDA image: it is truncated");
	memcpy(&head, image, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG)) {
		gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "CUDA image: it holds no machine code");
		return -ENOENT;
	}
	return head.e_machine == EM_CUDA ? visit_cubin(&w, image, size) : walk_host_file(&w, image, size);
}

struct newest {
	uint32_t sm, arch;
};

static int note_arch(void *arg, const struct fatbin_entry *e)
{
	struct newest *n = arg;

	if (e->kind == FATBIN_ELF && e->arch <= n->sm && e->arch / 10 == n->sm / 10 && e->arch > n->arch)
		n->arch = e->arch;
	return 0;
}

uint32_t sass_image_arch(const void *image, size_t size, uint32_t sm)
{
	struct newest n = { sm, 0 };
	struct gpubpf_diag ignored;
	uint32_t magic = 0;

	gpubpf_diag_init(&ignored);
	if (size >= sizeof(magic))
		memcpy(&magic, image, sizeof(magic));
	if (magic != FATBIN_MAGIC)
		return sm;
	while (image && size) {
		fatbin_walk(image, size, note_arch, &n, &ignored);
		image = fatbin_next(image, size, &size);
	}
	return n.arch ? n.arch : sm;
}

uint32_t sass_capability(const struct gpubpf_device_caps *caps)
{
	return strncmp(caps->arch, "sm_", 3) ? 0 : strtoul(caps->arch + 3, NULL, 10);
}
