/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "ctx.h"
#include "gpubpf/ctx.h"
#include "lower.h"

const struct ctx_field ctx_fields[] = {
#define GPUBPF_CTX_FIELD(field, count, size, source) \
	{ #field, offsetof(struct gpubpf_ctx, field), count, size, source },
#include "core/ctx_fields.def"
};

const uint32_t ctx_nfields = sizeof(ctx_fields) / sizeof(ctx_fields[0]);

uint32_t ctx_field_argument(const struct ctx_field *field, uint32_t i)
{
	static const char *const regs[] = { "di", "si", "dx", "cx", "r8", "r9" };

	for (uint32_t r = 0; r < sizeof(regs) / sizeof(regs[0]); r++)
		if (!strcmp(field->name, regs[r]))
			return r;
	return i;
}

static bool gives(enum gpubpf_site site, const struct ctx_field *field)
{
	return (field->source == PLACE || field->source == LANES) && gpubpf_place_kind(site)->operands >> gpubpf_operand_of(field->name) & 1;
}

static uint32_t words_before(enum gpubpf_site site, const struct ctx_field *field)
{
	uint32_t n = 0;

	for (const struct ctx_field *f = ctx_fields; f < field; f++)
		n += gives(site, f) ? f->count : 0;
	return n;
}

uint32_t ctx_field_word(const struct ctx_field *field, uint32_t i, enum gpubpf_site site)
{
	return gives(site, field) ? words_before(site, field) + i : UINT32_MAX;
}

uint32_t ctx_words(enum gpubpf_site site)
{
	return words_before(site, ctx_fields + ctx_nfields);
}

uint32_t ctx_word_of(const char *name, enum gpubpf_site site)
{
	const struct ctx_field *f = ctx_fields;

	while (strcmp(f->name, name))
		f++;
	assert(gives(site, f));
	return words_before(site, f);
}

bool ctx_captures(enum gpubpf_site site)
{
	return gpubpf_place_kind(site)->operands & GPUBPF_GIVES_CAPTURE;
}

uint32_t ctx_argument_word(uint32_t i, enum gpubpf_site site)
{
	static const char *const captured[] = { "mem.addr", "mem.bytes", "mem.access" };

	return ctx_captures(site) && i < sizeof(captured) / sizeof(captured[0]) ? ctx_word_of(captured[i], site) : UINT32_MAX;
}

uint64_t ctx_field_constant(const struct ctx_field *field, uint32_t i, const struct gpubpf_site_desc *site)
{
	char name[GPUBPF_CTX_NAME] = "";
	uint64_t word;

	if (!strcmp(field->name, "site"))
		return site->site;
	if (!strcmp(field->name, "nargs"))
		return site->nparams;
	snprintf(name, sizeof(name), "%.*s", GPUBPF_CTX_NAME - 1,
		 strcmp(field->name, "kernel_name") ? site->function : site->kernel);
	memcpy(&word, name + 8 * i, sizeof(word));
	return word;
}
