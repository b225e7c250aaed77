/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: adds a note for each global function that has no SEC() and that no program calls. The user probably forgot the
 * SEC() of a program.
 * Before: precheck.c has accepted the image.
 * After: l->out->notes has the notes.
 * Requires: nothing.
 */
#include "internal.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NOTES 8
#define INSN_SIZE 8u

struct text {
	const uint8_t *image;
	const Elf64_Shdr *sections;
	const Elf64_Sym *symbols;
	uint32_t nsections, index, ninsns; /* index: number of the section .text */
	uint64_t nsymbols;
	const char *names; /* names of the symbols */
	/* [ninsns + 1]: true if a program or function calls this instruction of .text or takes its address */
	bool *is_called;
};

static void find_sections(struct text *t)
{
	const Elf64_Ehdr *h = (const void *)t->image;
	const char *names;

	t->sections = (const void *)(t->image + h->e_shoff);
	t->nsections = h->e_shnum;
	names = (const char *)t->image + t->sections[h->e_shstrndx].sh_offset;
	for (uint32_t i = 1; i < t->nsections; i++) {
		const Elf64_Shdr *s = &t->sections[i];

		if (s->sh_type == SHT_SYMTAB) {
			t->symbols = (const void *)(t->image + s->sh_offset);
			t->nsymbols = s->sh_size / sizeof(*t->symbols);
			t->names = (const char *)t->image + t->sections[s->sh_link].sh_offset;
		} else if (s->sh_flags & SHF_EXECINSTR && !strcmp(names + s->sh_name, ".text")) {
			t->index = i;
			t->ninsns = s->sh_size / INSN_SIZE;
		}
	}
}

static const struct gpubpf_raw_insn *insns_of(const struct text *t, uint32_t section)
{
	return (const void *)(t->image + t->sections[section].sh_offset);
}

static void mark(struct text *t, int64_t insn)
{
	if (insn >= 0 && insn < t->ninsns)
		t->is_called[insn] = true;
}

/*
 * Marks the function to which a relocation refers. This is the symbol's function. If the symbol is the section .text,
 * the immediate of the relocated instruction determines the function.
 */
static void mark_relocation(struct text *t, uint32_t section, const Elf64_Rel *rel)
{
	const Elf64_Sym *sym = &t->symbols[ELF64_R_SYM(rel->r_info)];
	const struct gpubpf_raw_insn *insn = &insns_of(t, section)[rel->r_offset / INSN_SIZE];

	if (sym->st_shndx != t->index)
		return;
	if (ELF64_ST_TYPE(sym->st_info) != STT_SECTION)
		mark(t, sym->st_value / INSN_SIZE);
	else
		mark(t, insn->code == 0x85 ? (int64_t)insn->imm + 1 : insn->imm / (int64_t)INSN_SIZE);
}

static void mark_calls(struct text *t)
{
	const struct gpubpf_raw_insn *insns = insns_of(t, t->index);

	for (uint32_t i = 1; i < t->nsections; i++) {
		const Elf64_Shdr *s = &t->sections[i];
		const Elf64_Rel *rel = (const void *)(t->image + s->sh_offset);

		if (s->sh_type != SHT_REL || !(t->sections[s->sh_info].sh_flags & SHF_EXECINSTR))
			continue;
		for (uint64_t r = 0; r < s->sh_size / sizeof(*rel); r++)
			mark_relocation(t, s->sh_info, &rel[r]);
	}
	for (uint32_t pc = 0; pc < t->ninsns; pc++)
		if (insns[pc].code == 0x85 && insns[pc].regs >> 4 == 1 && insns[pc].imm != -1)
			mark(t, (int64_t)pc + 1 + insns[pc].imm);
}

void gpubpf_note_uncalled(struct gpubpf_loading *l)
{
	struct text t = { .image = l->image };
	uint32_t notes = 0;

	find_sections(&t);
	t.is_called = t.index ? calloc(t.ninsns + 1, sizeof(*t.is_called)) : NULL;
	if (!t.is_called)
		return;
	mark_calls(&t);
	for (uint64_t i = 1; i < t.nsymbols && notes < MAX_NOTES; i++) {
		const Elf64_Sym *sym = &t.symbols[i];

		if (sym->st_shndx != t.index || ELF64_ST_TYPE(sym->st_info) != STT_FUNC ||
		    ELF64_ST_BIND(sym->st_info) != STB_GLOBAL || t.is_called[sym->st_value / INSN_SIZE])
			continue;
		gpubpf_load_note(l->out,
				 "function %.64s has no SEC(), so it is not a program; put SEC(\"gpu/entry/KERNEL\") "
				 "before it, or make it static if a program calls it",
				 t.names + sym->st_name);
		notes++;
	}
	free(t.is_called);
}
