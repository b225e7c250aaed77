/* SPDX-License-Identifier: Apache-2.0 */
/* The context: a load at a constant offset becomes the expression that core/ctx_fields.def names. */
#include <stdio.h>
#include <string.h>

#include "clc.h"
#include "core/diag.h"
#include "gpubpf/ctx.h"

enum source { ARG, ENV, CONST, DEVICE };

static const struct field {
	const char *name;
	uint32_t off, count, size;
	enum source source;
} fields[] = {
#define GPUBPF_CTX_FIELD(field, count, size, source) \
	{ #field, offsetof(struct gpubpf_ctx, field), count, size, source },
#include "core/ctx_fields.def"
};

static const struct field *field_at(uint32_t off)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (off >= fields[i].off && off < fields[i].off + fields[i].count * fields[i].size)
			return &fields[i];
	return NULL;
}

static uint32_t argument_index(const struct field *field, uint32_t index)
{
	static const char *const regs[] = { "di", "si", "dx", "cx", "r8", "r9" };

	for (uint32_t i = 0; i < sizeof(regs) / sizeof(regs[0]); i++)
		if (!strcmp(field->name, regs[i]))
			return i;
	return index;
}

static uint64_t constant(const struct clc *c, const struct field *field, uint32_t index)
{
	char name[GPUBPF_CTX_NAME] = "";
	uint64_t word;

	if (!strcmp(field->name, "kernel"))
		return c->desc->kernel_id;
	if (!strcmp(field->name, "site"))
		return c->desc->site;
	if (!strcmp(field->name, "nargs"))
		return c->desc->nparams;
	snprintf(name, sizeof(name), "%.63s", c->desc->kernel);
	memcpy(&word, name + 8 * index, sizeof(word));
	return word;
}

static void element(struct clc *c, const struct field *field, uint32_t index)
{
	switch (field->source) {
	case ARG:
		text_add(c->t, "env->arg[%u]", argument_index(field, index));
		break;
	case ENV:
		text_add(c->t, "(u64)env->%s", field->name);
		break;
	case CONST:
		text_add(c->t, "0x%llxUL", (unsigned long long)constant(c, field, index));
		break;
	case DEVICE:
		text_add(c->t, "(u64)gpubpf_ctx_%s(%u)", field->name, index);
		break;
	}
}

int clc_ctx_load(struct clc *c, uint32_t pc, uint32_t off, uint32_t width)
{
	static const char *const type[] = { [1] = "(u8)", [2] = "(u16)", [4] = "(u32)" };
	const struct field *field = field_at(off);
	uint32_t in, index;

	if (!field) {
		text_add(c->t, "0");
		return 0;
	}
	index = (off - field->off) / field->size;
	in = (off - field->off) % field->size;
	if (in + width > field->size)
		return gpubpf_diag_set(c->diag, GPUBPF_E_CTX_ACCESS, pc, "a read of %u bytes at %u spans two fields", width,
				       off);
	if (width == field->size) {
		element(c, field, index);
		return 0;
	}
	text_add(c->t, "%s(", type[width]);
	element(c, field, index);
	text_add(c->t, " >> %u)", 8 * in);
	return 0;
}
