/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles the addresses in a kernel's constants and code. The address of a driver function or of compiler data gets a
 * relocation in the twin. The address of an application's variable gets a binding, which the agent fills in. A kernel
 * with another kind of address is refused.
 */
#include "twin_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/analysis/addresses.h"
#include "backends/cuda/sass/isa/constant.h"

#define IMMEDIATE_AT 4             /* byte offset of the immediate in an instruction, where it has bits 32 to 63 */

/* -- c[0x4]: addresses -- */

/* Is the symbol constant data that the compiler has generated? No code writes such data, so the twin can have a
 * copy. */
static bool is_constant_data(const struct writer *w, const struct sass_symbol *s)
{
	return s->section && s->section != SASS_NONE && s->section == sass_section_find(w->app, ".nv.global.init") &&
	       (begins(s->name, "$str") || begins(s->name, "__unnamed_") || begins(s->name, "__cudart_"));
}

static void bind(struct writer *w, const struct sass_relocation *a, enum cuda_twin_part part)
{
	struct sass_binding *b = &w->twin->bindings[w->twin->nbindings++];
	bool code = part != CUDA_TWIN_WHOLE;

	*b = (struct sass_binding){ a->symbol, a->addend, a->off + (code ? IMMEDIATE_AT : 0), part,
				    code ? w->text : sass_section_find(w->app, ".nv.constant4") };
}

static bool is_variable(const struct sass_symbol *s)
{
	return ELF64_ST_TYPE(s->head.st_info) == STT_OBJECT && s->section && s->section != SASS_NONE;
}

static Elf64_Rela make_relocation(struct writer *w, const struct sass_relocation *r)
{
	sass_twin_add_symbol(w, r->symbol);
	return (Elf64_Rela){ r->off, ELF64_R_INFO((uint64_t)r->symbol, r->type), r->addend };
}

static int covers_offset(void *arg, const struct sass_relocation *r)
{
	return r->off / 8 == *(const uint64_t *)arg / 8;
}

static int read_address(struct writer *w, uint64_t off)
{
	uint32_t section = sass_section_find(w->app, ".nv.constant4");
	const struct sass_section *bank = &w->app->sections[section];
	const struct sass_symbol *s;
	struct sass_relocation a;

	if (off % 8 || bank->size < 8 || off > bank->size - 8)
		return refuse(w, "the relocations of its addresses are invalid");
	for (uint32_t i = 0; i < w->nrelocations; i++)
		if (w->relocations[i].r_offset == off)
			return 0;
	for (uint32_t i = 0; i < w->twin->nbindings; i++)
		if (w->twin->bindings[i].off == off)
			return 0;
	if (!sass_address_at(w->app, off, &a)) /* data, not an address: copied unchanged */
		return sass_relocations_each(w->app, section, covers_offset, &off) ?
			       refuse(w, "it reads an address with a relocation of unknown type") :
			       0;
	s = &w->app->symbols[a.symbol];
	if (sass_is_system_call(s) || is_constant_data(w, s))
		w->relocations[w->nrelocations++] = make_relocation(w, &a);
	else if (is_variable(s))
		bind(w, &a, CUDA_TWIN_WHOLE);
	else
		return refuse(w,
			      "it takes the address of %.100s, which its twin cannot do from another "
			      "module",
			      s->name);
	return 0;
}

static int read_each_address(void *arg, const struct sass_relocation *address)
{
	return read_address(arg, address->off);
}

/* Handles each address that the kernel reads from c[0x4]. If the offset of one read is unknown, handles all
 * addresses in c[0x4]. */
static int read_addresses(struct writer *w, uint32_t bank)
{
	const struct sass_section *s = &w->app->sections[bank];
	int err = 0;

	for (uint32_t i = 0; !err && i < w->code->n; i++) {
		struct sass_insn insn = sass_code_at(w->code, i);
		uint64_t off;

		if (sass_constant_bank(insn) != 4)
			continue;
		if (sass_is(insn, SASS_OPERATION_ULDC_INDEXED))
			return refuse(w, "it reads addresses by an index, which twins do not support");
		if (!sass_reads_address(w->code, i, &off))
			return sass_relocations_each(w->app, bank, read_each_address, w);
		if ((off & ~7ull) + 8 > s->size)
			return refuse(w, "it reads an address that is not in the image");
		err = read_address(w, off & ~7ull);
	}
	return err;
}

int sass_twin_addresses(struct writer *w)
{
	uint32_t bank = sass_section_find(w->app, ".nv.constant4"), code_relocations = w->texts.relocations;
	const struct sass_section *s = &w->app->sections[bank];
	size_t n = s->data ? s->size / 8 + 1 : 1;
	int err;

	w->relocations = calloc(n, sizeof(*w->relocations));
	w->code_relocations = calloc(code_relocations + 1, sizeof(*w->code_relocations));
	w->twin->bindings = calloc(n + code_relocations + w->patched->naddresses, sizeof(*w->twin->bindings));
	w->addresses = malloc(s->size + 1);
	if (!w->relocations || !w->code_relocations || !w->twin->bindings || !w->addresses)
		return -ENOMEM;
	err = read_addresses(w, bank);
	if (err < 0 || !(w->nrelocations || w->twin->nbindings))
		return err;
	memcpy(w->addresses, s->data, s->size);
	for (uint32_t i = 0; i < w->twin->nbindings; i++)
		memset(w->addresses + w->twin->bindings[i].off, 0, 8);
	return 1;
}

/* -- addresses in code: of code, and of variables -- */

static int read_code_address(void *arg, const struct sass_relocation *r)
{
	struct writer *w = arg;
	const struct sass_symbol *s = &w->app->symbols[r->symbol]; /* sass_texts_find() has checked the index */

	if (s->section == w->text || r->type == SASS_RELOCATION_CALL)
		w->code_relocations[w->ncode_relocations++] = make_relocation(w, r);
	else if (is_variable(s))
		bind(w, r, r->type == SASS_RELOCATION_LOW ? CUDA_TWIN_LOW : CUDA_TWIN_HIGH);
	else
		return refuse(w,
			      "it takes the address of %.100s, which its twin cannot do from another "
			      "module",
			      s->name);
	return 0;
}

int sass_twin_addresses_of_code(struct writer *w, uint32_t section)
{
	w->text = section;
	return sass_relocations_each(w->app, section, read_code_address, w);
}

/* -- addresses of __constant__ variables, in stubs -- */

/* Returns the symbol of the variable at this offset of the bank. If no variable covers the offset, returns another
 * symbol of the bank, as a base. Returns 0 if the bank has no named variable. */
static uint32_t find_constant_symbol(const struct writer *w, uint32_t bank, uint32_t off)
{
	uint32_t found = 0;

	for (uint32_t i = sass_first(&w->app->symbols_by_section, bank); i; i = w->app->symbols_by_section.next[i]) {
		const struct sass_symbol *s = &w->app->symbols[i];

		if (ELF64_ST_TYPE(s->head.st_info) != STT_OBJECT || !*s->name)
			continue;
		if (off >= s->head.st_value && off - s->head.st_value < s->head.st_size)
			return i;
		found = found ? found : i;
	}
	return found;
}

int sass_twin_addresses_in_stubs(struct writer *w)
{
	uint32_t bank = sass_section_find(w->app, SASS_CONSTANTS);

	w->text = w->kernel->text;
	for (uint32_t i = 0; i < w->patched->naddresses; i++) {
		const struct sass_constant_address *a = &w->patched->addresses[i];
		uint32_t symbol = find_constant_symbol(w, bank, a->off);

		if (!symbol)
			return refuse(w, "it reads __constant__ variables that have no name");
		bind(w,
		     &(struct sass_relocation){ (uint64_t)a->at * SASS_INSN, symbol, 0,
						(int64_t)a->off - (int64_t)w->app->symbols[symbol].head.st_value },
		     a->high ? CUDA_TWIN_HIGH : CUDA_TWIN_LOW);
	}
	return 0;
}
