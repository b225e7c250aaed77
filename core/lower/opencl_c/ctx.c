/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits reads of the context. A load at a constant offset becomes an expression for the field at that offset
 * (core/model/ctx_fields.def).
 */
#include <string.h>

#include "opencl_c.h"
#include "core/model/diag.h"
#include "core/lower/ctx.h"

static const struct ctx_field *find_field(uint32_t off)
{
	for (uint32_t i = 0; i < ctx_nfields; i++)
		if (off >= ctx_fields[i].off && off < ctx_fields[i].off + ctx_fields[i].count * ctx_fields[i].size)
			return &ctx_fields[i];
	return NULL;
}

/* Emits an expression for an operand word of the place, which is 0 if `word` is UINT32_MAX. */
static void emit_operand_word(struct clc *c, uint32_t word)
{
	if (word == UINT32_MAX)
		text_add(c->t, "0UL");
	else
		text_add(c->t, "((GPUBPF_PRIVATE const u64 *)(env + 1))[%u]", word);
}

static void emit_element(struct clc *c, const struct ctx_field *field, uint32_t index)
{
	switch (field->source) {
	case ARG:
		index = ctx_field_argument(field, index);
		if (ctx_captures(c->desc->site))
			emit_operand_word(c, ctx_argument_word(index, c->desc->site));
		else
			text_add(c->t, "env->arg[%u]", index);
		break;
	case ENV:
		text_add(c->t, "(u64)env->%s", strcmp(field->name, "kernel") ? field->name : "kernel_id");
		break;
	case CONST:
		text_add(c->t, "0x%llxUL", (unsigned long long)ctx_field_constant(field, index, c->desc));
		break;
	case DEVICE:
		text_add(c->t, "(u64)gpubpf_ctx_%s(%u)", field->name, index);
		break;
	case PLACE:
		emit_operand_word(c, ctx_field_word(field, index, c->desc->site));
		break;
	case LANES:
		text_add(c->t, "gpubpf_lanes_given(");
		emit_operand_word(c, ctx_field_word(field, index, c->desc->site));
		text_add(c->t, ")");
		break;
	}
}

int clc_ctx_load(struct clc *c, uint32_t pc, uint32_t off, uint32_t width)
{
	static const char *const type[] = { [1] = "(u8)", [2] = "(u16)", [4] = "(u32)" };
	const struct ctx_field *field = find_field(off);
	uint32_t in, index;

	if (!field) {
		text_add(c->t, "0");
		return 0;
	}
	index = (off - field->off) / field->size;
	in = (off - field->off) % field->size;
	if (in + width > field->size)
		return gpubpf_diag_set(c->diag, GPUBPF_E_CTX_ACCESS, pc,
				       "a read of %u bytes at context offset %u spans two fields", width, off);
	if (width == field->size) {
		emit_element(c, field, index);
		return 0;
	}
	text_add(c->t, "%s(", type[width]);
	emit_element(c, field, index);
	text_add(c->t, " >> %u)", 8 * in);
	return 0;
}
