/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "ctx.h"
#include "gpubpf/ctx.h"
#include "lower.h"

const struct ctx_field ctx_fields[] = {
#define GPUBPF_CTX_FIELD(field, count, size, source) \
	{ #field, offsetof(struct gpubpf_ctx, field), count, size, source },
#include "core/model/ctx_fields.def"
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

/*
 * For each kind of site and each field, the index of the field's first word, or UINT32_MAX if places of this kind lack
 * the field. The last element is the number of words.
 */
static uint32_t words[GPUBPF_NSITES][sizeof(ctx_fields) / sizeof(ctx_fields[0]) + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void count_words(void)
{
	for (uint32_t site = 0; site < GPUBPF_NSITES; site++) {
		uint32_t n = 0;

		for (uint32_t f = 0; f < ctx_nfields; f++) {
			bool of_place = ctx_fields[f].source == PLACE || ctx_fields[f].source == LANES;
			bool gives = of_place &&
				     gpubpf_place_kind(site)->operands >> gpubpf_operand_of(ctx_fields[f].name) & 1;

			words[site][f] = gives ? n : UINT32_MAX;
			n += gives ? ctx_fields[f].count : 0;
		}
		words[site][ctx_nfields] = n;
	}
}

static uint32_t word_at(enum gpubpf_site site, uint32_t field)
{
	pthread_once(&once, count_words);
	return words[site][field];
}

uint32_t ctx_field_word(const struct ctx_field *field, uint32_t i, enum gpubpf_site site)
{
	uint32_t first = word_at(site, field - ctx_fields);

	return first == UINT32_MAX ? first : first + i;
}

uint32_t ctx_words(enum gpubpf_site site)
{
	return word_at(site, ctx_nfields);
}

uint32_t ctx_word_of(const char *name, enum gpubpf_site site)
{
	const struct ctx_field *f = ctx_fields;

	while (strcmp(f->name, name))
		f++;
	assert(ctx_field_word(f, 0, site) != UINT32_MAX);
	return ctx_field_word(f, 0, site);
}

bool ctx_captures(enum gpubpf_site site)
{
	return gpubpf_place_kind(site)->operands & GPUBPF_GIVES_CAPTURE;
}

uint32_t ctx_argument_word(uint32_t i, enum gpubpf_site site)
{
	static const char *const captured[] = { "mem.addr", "mem.bytes", "mem.access" };

	return ctx_captures(site) && i < sizeof(captured) / sizeof(captured[0]) ? ctx_word_of(captured[i], site) :
										  UINT32_MAX;
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
