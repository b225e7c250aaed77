/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does:     replaces indices in section headers, lays out the file, makes segments, and writes the file.
 * Before:   all sections have their contents.
 * After:    twin->cubin holds the file.
 * Requires: nothing.
 */
#include "twin_work.h"

#include <errno.h>
#include <stdlib.h>

#define CODE_ALIGN 128
#define REGS_SHIFT 24              /* bit position of the number of registers in sh_info of a code section, with ABI
                                    * version 7 */
#define ABI_REGS_IN_INFO 7

/* -- headers -- */

/* Returns the number of symbols up to the last local symbol. Compilers mix local symbols with others, so some of
 * these may not be local. */
static uint32_t count_local_symbols(const struct writer *w)
{
	uint32_t n = w->nsymbols;

	while (n > 1 && ELF64_ST_BIND(w->symbols[n - 1].st_info) != STB_LOCAL)
		n--;
	return n;
}

/* Returns the sh_info of the section of a callee: the callee's symbol in the twin and, with ABI version 7, its
 * number of registers. */
static uint32_t find_function_info(const struct writer *w, uint32_t info)
{
	uint32_t mask = w->app->head.e_ident[EI_ABIVERSION] <= ABI_REGS_IN_INFO ? (1u << REGS_SHIFT) - 1 : UINT32_MAX;

	return (info & ~mask) | ((info & mask) < w->app->nsymbols ? w->symbol[info & mask] : 0);
}

void sass_twin_fix_heads(struct writer *w)
{
	for (uint32_t i = FIRST_COPIED; i < w->nsections; i++) {
		struct out_section *s = &w->sections[i];
		bool text = s->from == w->kernel->text, constants = i == w->constants;
		bool other = s->from && !text && s->head.sh_flags & SHF_EXECINSTR;

		if (constants)
			s->head.sh_link = s->head.sh_info = 0;
		if (s->head.sh_link && s->from)
			s->head.sh_link = w->section[s->head.sh_link];
		if (text)
			s->head.sh_info = w->symbol[w->kernel->symbol];
		else if (other)
			s->head.sh_info = find_function_info(w, s->head.sh_info);
		else if (s->head.sh_info && !constants)
			s->head.sh_info = s->head.sh_info < w->app->nsections ? w->section[s->head.sh_info] : 0;
		if (text && w->app->head.e_ident[EI_ABIVERSION] <= ABI_REGS_IN_INFO)
			s->head.sh_info |= w->patched->regs << REGS_SHIFT;
	}
	w->sections[SECTION_SYMBOLS].head.sh_info = count_local_symbols(w);
}

/* -- the file -- */

static size_t align(size_t n, size_t to)
{
	return to > 1 ? (n + to - 1) / to * to : n;
}

/* Returns the number of bytes that the section occupies in the file. */
static size_t file_bytes(const struct out_section *s)
{
	return s->data ? s->head.sh_size : 0;
}

static size_t lay_out(struct writer *w)
{
	size_t at = sizeof(Elf64_Ehdr);

	for (uint32_t i = 1; i < w->nsections; i++) {
		Elf64_Shdr *h = &w->sections[i].head;

		at = align(at, w->sections[i].from == w->kernel->text ? CODE_ALIGN :
			       h->sh_addralign > 4096                 ? 1 :
									h->sh_addralign);
		h->sh_offset = at;
		if (h->sh_type != SHT_NOBITS)
			h->sh_size = file_bytes(&w->sections[i]);
		at += file_bytes(&w->sections[i]);
	}
	return align(at, 8);
}

#define SEGMENT_FLAGS (SHF_WRITE | SHF_ALLOC | SHF_EXECINSTR)

/* Builds a segment for each run of sections with the same access rights. The first two segments, which the caller
 * makes, are for the program headers. Returns the number of segments. */
static uint32_t make_segments(const struct writer *w, Elf64_Phdr *out)
{
	const struct out_section *before = NULL;
	uint32_t n = 2;

	for (uint32_t i = 1; i < w->nsections; i++) {
		const struct out_section *s = &w->sections[i];
		uint64_t flags = s->head.sh_flags & SEGMENT_FLAGS, bytes = file_bytes(s);

		if (!(flags & SHF_ALLOC))
			continue;
		if (!before || (before->head.sh_flags & SEGMENT_FLAGS) != flags)
			out[n++] = (Elf64_Phdr){ .p_type = PT_LOAD,
						 .p_offset = s->head.sh_offset,
						 .p_align = 8,
						 .p_flags = PF_R | (flags & SHF_WRITE ? PF_W : 0) |
							    (flags & SHF_EXECINSTR ? PF_X : 0) };
		out[n - 1].p_filesz = s->head.sh_offset + bytes - out[n - 1].p_offset;
		out[n - 1].p_memsz = out[n - 1].p_filesz > out[n - 1].p_memsz ? out[n - 1].p_filesz : out[n - 1].p_memsz;
		out[n - 1].p_memsz += s->head.sh_type == SHT_NOBITS ? s->head.sh_size : 0;
		before = s;
	}
	return n;
}

int sass_twin_write_file(struct writer *w)
{
	Elf64_Phdr *segments = calloc(w->nsections + 2, sizeof(*segments));
	size_t heads = lay_out(w), table = heads + w->nsections * sizeof(Elf64_Shdr), size;
	Elf64_Ehdr head = w->app->head;
	uint8_t *out;

	if (!segments)
		return -ENOMEM;
	head.e_phnum = make_segments(w, segments);
	head.e_phoff = table;
	head.e_phentsize = sizeof(*segments);
	head.e_shoff = heads;
	head.e_shnum = w->nsections;
	head.e_shstrndx = SECTION_NAMES;
	size = table + head.e_phnum * sizeof(*segments);
	segments[0] = (Elf64_Phdr){ .p_type = PT_PHDR,
				    .p_flags = PF_R,
				    .p_offset = table,
				    .p_align = 8,
				    .p_filesz = size - table,
				    .p_memsz = size - table };
	segments[1] = segments[0];
	segments[1].p_type = PT_LOAD;
	out = calloc(1, size);
	if (out) {
		memcpy(out, &head, sizeof(head));
		for (uint32_t i = 1; i < w->nsections; i++) {
			const struct out_section *s = &w->sections[i];

			if (file_bytes(s))
				memcpy(out + s->head.sh_offset, s->data, file_bytes(s));
			memcpy(out + heads + i * sizeof(s->head), &s->head, sizeof(s->head));
		}
		memcpy(out + table, segments, size - table);
	}
	free(segments);
	w->twin->cubin = (struct gpubpf_blob){ out, size };
	return out ? 0 : -ENOMEM;
}
