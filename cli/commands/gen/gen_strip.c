/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the DWARF sections of a BPF object for gen skeleton: BTF has what the loader and the verifier's messages need.
 * The sections stay in the table of sections, without bytes, so that no index of a symbol or relocation changes.
 */
#include "gen_strip.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ALIGN 4096ul /* maximum alignment of a section that is kept */

struct stripping {
	const uint8_t *from;
	size_t from_size;
	Elf64_Shdr *section; /* [n] copy of the table of sections */
	Elf64_Shdr names;    /* the section with the names of sections, as in the object */
	uint32_t n;
	uint8_t *to;
	size_t at; /* bytes of `to` in use */
};

static bool has_bytes(const struct stripping *s, const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NOBITS && section->sh_offset <= s->from_size &&
	       section->sh_size <= s->from_size - section->sh_offset;
}

static bool is_debug(const struct stripping *s, const Elf64_Shdr *section)
{
	static const char *const prefixes[] = { ".debug_", ".rel.debug_", ".rela.debug_", ".llvm_addrsig" };
	const Elf64_Shdr *names = &s->names;
	const char *name = (const char *)s->from + names->sh_offset + section->sh_name;

	if (!has_bytes(s, names) || section->sh_name >= names->sh_size)
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strlen(prefixes[i]) < names->sh_size - section->sh_name &&
		    !strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Reads the table of sections. Returns false if the object has another form than clang's BPF objects. */
static bool read_sections(struct stripping *s)
{
	Elf64_Ehdr head;

	if (s->from_size < sizeof(head))
		return false;
	memcpy(&head, s->from, sizeof(head));
	s->n = head.e_shnum;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_type != ET_REL ||
	    head.e_phnum || head.e_shentsize != sizeof(*s->section) || head.e_shstrndx >= s->n ||
	    head.e_shoff > s->from_size || s->n > (s->from_size - head.e_shoff) / sizeof(*s->section))
		return false;
	s->section = malloc(s->n * sizeof(*s->section));
	if (!s->section)
		return false;
	memcpy(s->section, s->from + head.e_shoff, s->n * sizeof(*s->section));
	s->names = s->section[head.e_shstrndx];
	return true;
}

/* Append bytes at an aligned offset. Returns the offset. The buffer has room for the complete object. */
static size_t append(struct stripping *s, const void *data, size_t size, size_t align)
{
	size_t to = align > 8 && align <= MAX_ALIGN ? align : 8; /* the loader requires 8 of sections with instructions */
	size_t at = (s->at + to - 1) / to * to;

	memset(s->to + s->at, 0, at - s->at);
	memcpy(s->to + at, data, size);
	s->at = at + size;
	return at;
}

static void copy_sections(struct stripping *s)
{
	for (uint32_t i = 1; i < s->n; i++) {
		Elf64_Shdr *section = &s->section[i];

		if (section->sh_type == SHT_NOBITS)
			continue;
		if (is_debug(s, section))
			section->sh_size = 0;
		section->sh_offset = append(s, s->from + section->sh_offset, section->sh_size, section->sh_addralign);
	}
}

uint8_t *gen_strip_debug(const uint8_t *data, size_t size, size_t *stripped)
{
	struct stripping s = { .from = data, .from_size = size };
	bool fits = read_sections(&s);
	size_t all = 0;
	Elf64_Ehdr head;

	for (uint32_t i = 1; i < s.n && fits; i++) {
		fits = s.section[i].sh_type == SHT_NOBITS || has_bytes(&s, &s.section[i]);
		all += s.section[i].sh_type == SHT_NOBITS ? 0 : s.section[i].sh_size + MAX_ALIGN;
	}
	/* sections that overlap would make the copy larger than the object */
	s.to = fits && all <= size + s.n * MAX_ALIGN ? malloc(all + size + MAX_ALIGN) : NULL;
	if (s.to) {
		memcpy(&head, data, sizeof(head));
		append(&s, &head, sizeof(head), 1);
		copy_sections(&s);
		head.e_shoff = append(&s, s.section, s.n * sizeof(*s.section), 8);
		memcpy(s.to, &head, sizeof(head));
		*stripped = s.at;
	}
	free(s.section);
	return s.to;
}
