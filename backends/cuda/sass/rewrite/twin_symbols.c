/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does:     selects the application's symbols that the twin needs, adds the symbols of the probes' words, and renumbers
 *           relocations.
 * Before:   sass_twin_choose_sections() has chosen the sections.
 * After:    w->symbols and w->strings are complete, and w->symbol maps indices.
 * Requires: nothing.
 */
#include "twin_work.h"

#include <errno.h>
#include <stdlib.h>

#include "backends/cuda/sass/analysis/addresses.h"

static const char *make_symbol_name(struct writer *w, const struct sass_symbol *s)
{
	if (s == &w->app->symbols[w->kernel->symbol])
		return w->twin_name;
	return ELF64_ST_TYPE(s->head.st_info) == STT_SECTION ? sass_twin_section_name(w, s->name) : s->name;
}

void sass_twin_add_symbol(struct writer *w, uint32_t symbol)
{
	if (symbol && !w->is_selected[symbol])
		w->selected[w->nselected++] = symbol;
	w->is_selected[symbol] = 1;
}

/* Selects the symbols of the driver functions that the kernel or its callees may call. */
static void select_externs(struct writer *w)
{
	const struct sass_section *s = &w->app->sections[w->kernel->info];
	struct sass_item item;
	size_t at = 0;

	while (sass_item_next(s->data, s->size, &at, &item))
		for (size_t k = 0; item.attr == SASS_ATTR_EXTERNS && k + 4 <= item.size && item.data; k += 4) {
			uint32_t symbol = sass_get32(item.data + k);

			if (symbol < w->app->nsymbols && sass_is_system_call(&w->app->symbols[symbol]))
				sass_twin_add_symbol(w, symbol);
		}
}

static bool is_data(const struct writer *w, const struct sass_symbol *s)
{
	return ELF64_ST_TYPE(s->head.st_info) == STT_OBJECT && begins(w->app->sections[s->section].name, ".nv.global");
}

static void select_symbols(struct writer *w)
{
	const struct sass_chains *of = &w->app->symbols_by_section;

	select_externs(w);
	for (uint32_t k = 1; k < w->nsections; k++)
		for (uint32_t i = w->sections[k].from ? sass_first(of, w->sections[k].from) : 0; i; i = of->next[i])
			if (!is_data(w, &w->app->symbols[i]))
				sass_twin_add_symbol(w, i);
	for (uint32_t i = sass_first(&w->app->reserved, 0); i; i = w->app->reserved.next[i])
		sass_twin_add_symbol(w, i);
	qsort(w->selected, w->nselected, sizeof(*w->selected), sass_compare_u32);
}

size_t sass_twin_add_string(char *to, size_t *size, const char *text)
{
	size_t at = *size, n = strlen(text) + 1;

	memcpy(to + at, text, n);
	*size += n;
	return at;
}

static void append_symbol(struct writer *w, const struct sass_symbol *s, uint32_t section, uint64_t size)
{
	Elf64_Sym *out = &w->symbols[w->nsymbols++];

	*out = s->head;
	out->st_name = *s->name ? sass_twin_add_string(w->strings, &w->strings_size, make_symbol_name(w, s)) : 0;
	out->st_shndx = section;
	out->st_size = size;
}

static void append_symbols(struct writer *w)
{
	for (uint32_t k = 0; k < w->nselected; k++) {
		uint32_t i = w->selected[k];
		const struct sass_symbol *s = &w->app->symbols[i];

		w->symbol[i] = w->nsymbols;
		append_symbol(w, s, s->section && s->section != SASS_NONE ? w->section[s->section] : s->head.st_shndx,
			      i == w->kernel->symbol ? w->patched->n * SASS_INSN : s->head.st_size);
	}
}

/* Appends the symbols of the words in c[0x3] of the probes. The agent finds the words by these symbols. */
static void append_words(struct writer *w, uint32_t bank)
{
	for (uint32_t i = 1; w->constants && i < w->probes->nsymbols; i++) {
		const struct sass_symbol *s = &w->probes->symbols[i];

		if (s->section == bank)
			append_symbol(w, s, w->constants, s->head.st_size);
	}
}

static void map_relocations(const struct writer *w, Elf64_Rela *relocations, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t info = relocations[i].r_info;

		relocations[i].r_info = ELF64_R_INFO((uint64_t)w->symbol[ELF64_R_SYM(info)], ELF64_R_TYPE(info));
	}
}

int sass_twin_make_symbols(struct writer *w, uint32_t bank)
{
	size_t strings = 1 + OWN_NAMES * sizeof(w->twin_name);

	select_symbols(w);
	for (uint32_t i = 0; i < w->nselected; i++)
		strings += strlen(w->app->symbols[w->selected[i]].name) + 1;
	for (uint32_t i = 0; i < w->probes->nsymbols; i++)
		strings += strlen(w->probes->symbols[i].name) + 1;
	w->symbols = calloc(w->nselected + w->probes->nsymbols + 1, sizeof(*w->symbols));
	w->strings = calloc(1, strings);
	if (!w->symbols || !w->strings)
		return -ENOMEM;
	w->nsymbols = 1;
	w->strings_size = 1;
	append_symbols(w);
	append_words(w, bank);
	if (w->failed)
		return -ENOMEM;
	map_relocations(w, w->relocations, w->nrelocations);
	map_relocations(w, w->code_relocations, w->ncode_relocations);
	return 0;
}
