/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads line tables. In a cubin each kernel has its own section at address 0. Relocations say to which section an
 * address in .debug_line belongs. This code applies the relocations to a copy of the cubin, with section n at address n
 * << SECTION_SHIFT.
 */
#include "lines.h"

#include <stdlib.h>
#include <string.h>

#define R_CUDA_64 2
#define SECTION_SHIFT 40

static void relocate(const struct sass_cubin *c, const struct sass_section *lines, const struct sass_section *rel,
		     uint8_t *copy)
{
	size_t size = rel->head.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);

	for (size_t at = 0; rel->data && at + size <= rel->size; at += size) {
		const struct sass_symbol *symbol;
		Elf64_Rela r = { 0 };
		uint64_t address;

		memcpy(&r, rel->data + at, size);
		if (ELF64_R_TYPE(r.r_info) != R_CUDA_64 || ELF64_R_SYM(r.r_info) >= c->nsymbols ||
		    lines->size < sizeof(address) || r.r_offset > lines->size - sizeof(address))
			continue;
		symbol = &c->symbols[ELF64_R_SYM(r.r_info)];
		if (rel->head.sh_type == SHT_REL)
			memcpy(&r.r_addend, copy + (lines->data - c->data) + r.r_offset, sizeof(r.r_addend));
		address = ((uint64_t)symbol->section << SECTION_SHIFT) + symbol->head.st_value + r.r_addend;
		memcpy(copy + (lines->data - c->data) + r.r_offset, &address, sizeof(address));
	}
}

static void read_lines(const struct sass_cubin *c, bool starts, struct gpubpf_lines *lines)
{
	uint32_t section = sass_section_find(c, ".debug_line");
	uint8_t *copy;

	*lines = (struct gpubpf_lines){ 0 };
	if (!section || !c->sections[section].data)
		return;
	copy = malloc(c->size);
	if (!copy)
		return;
	memcpy(copy, c->data, c->size);
	relocate(c, &c->sections[section], &c->sections[sass_relocations_of(c, section)], copy);
	(starts ? gpubpf_lines_read_starts : gpubpf_lines_read)(copy, c->size, lines);
	free(copy);
}

void sass_lines_read(const struct sass_cubin *c, struct gpubpf_lines *lines)
{
	read_lines(c, false, lines);
}

void sass_lines_read_starts(const struct sass_cubin *c, struct gpubpf_lines *lines)
{
	read_lines(c, true, lines);
}

uint64_t sass_line_address(uint32_t text, uint64_t off)
{
	return ((uint64_t)text << SECTION_SHIFT) + off;
}

uint32_t sass_line_at(const struct gpubpf_lines *lines, uint32_t text, uint64_t off)
{
	return gpubpf_lines_at(lines, sass_line_address(text, off));
}
