/* SPDX-License-Identifier: Apache-2.0 */
#include "kept_ptx.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"

/*
 * Finds a section of a cubin. Returns NULL and sets *why if the cubin is damaged; *why is NULL if the section is merely
 * absent.
 */
static const char *find_section(const void *data, size_t size, const char *name, size_t *section_size, const char **why)
{
	const char *image = data;
	size_t len = strlen(name) + 1;
	Elf64_Shdr names, section;
	Elf64_Ehdr ehdr;

	*why = NULL;
	if (size < sizeof(ehdr)) {
		*why = "the cubin is cut off";
		return NULL;
	}
	memcpy(&ehdr, image, sizeof(ehdr));
	*why = "the cubin's section table is broken";
	if (ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_shentsize != sizeof(section) || ehdr.e_shoff > size ||
	    ehdr.e_shnum > (size - ehdr.e_shoff) / sizeof(section) || ehdr.e_shstrndx >= ehdr.e_shnum)
		return NULL;
	memcpy(&names, image + ehdr.e_shoff + ehdr.e_shstrndx * sizeof(names), sizeof(names));
	if (names.sh_offset > size || names.sh_size > size - names.sh_offset)
		return NULL;
	*why = NULL;
	for (size_t i = 0; i < ehdr.e_shnum; i++) {
		memcpy(&section, image + ehdr.e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_name > names.sh_size || names.sh_size - section.sh_name < len ||
		    memcmp(image + names.sh_offset + section.sh_name, name, len))
			continue;
		if (section.sh_offset <= size && section.sh_size <= size - section.sh_offset) {
			*section_size = section.sh_size;
			return image + section.sh_offset;
		}
		*why = "a section of the cubin extends past its end";
		return NULL;
	}
	return NULL;
}

/* Extracts the PTX in the cubin's section .nv_debug_ptx_txt, where a NUL byte ends each line. */
int cubin_ptx(const void *data, size_t size, char **text, size_t *text_size, struct gpubpf_diag *diag)
{
	const char *why;
	size_t n;
	const char *lines = find_section(data, size, ".nv_debug_ptx_txt", &n, &why);

	if (!lines && why)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "CUDA image: %s", why);
	if (!lines) {
		gpubpf_diag_remedy(diag, "build the program with PTX inside (-gencode code=compute_XX) or with -lineinfo");
		gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "CUDA image: machine code only, no PTX inside");
		return -ENOENT;
	}
	*text = malloc(n + 1);
	if (!*text)
		return -ENOMEM;
	for (size_t c = 0; c < n; c++)
		(*text)[c] = lines[c] ? lines[c] : '\n';
	(*text)[n] = 0;
	*text_size = n;
	return 0;
}

/*
 * NVIDIA does not document where a cubin states its virtual architecture; cubins of ptxas 11.8 to 13.0 showed it. In
 * ABI version 7 it is in bits 16 to 23 of e_flags. In ABI version 8 it is in the note .note.nv.cuinfo: u16 version, u16
 * virtual architecture, u32 toolkit. ptxas 12.8 writes ABI 8 (for sm_100 and later) without that note.
 */
uint32_t cubin_virtual(const void *data, size_t size)
{
	static const char owner[] = "NVIDIA Corp";
	const size_t at = sizeof(Elf64_Nhdr) + sizeof(owner) + 2;
	const char *note, *why;
	Elf64_Ehdr ehdr;
	uint16_t arch;
	size_t n;

	if (size < sizeof(ehdr))
		return 0;
	memcpy(&ehdr, data, sizeof(ehdr));
	if (ehdr.e_ident[EI_ABIVERSION] < 8)
		return ehdr.e_flags >> 16 & 0xff;
	note = find_section(data, size, ".note.nv.cuinfo", &n, &why);
	if (!note || n < at + sizeof(arch) || memcmp(note + sizeof(Elf64_Nhdr), owner, sizeof(owner)))
		return 0;
	memcpy(&arch, note + at, sizeof(arch));
	return arch;
}
