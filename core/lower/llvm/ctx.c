/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowers reads of the context. The context is not in memory: the code combines the fields that a read covers
 * (core/model/ctx_fields.def).
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/lower/ctx.h"
#include "low.h"
#include "passes/passes.h"

/* Loads an operand word of the place from the environment. The result is 0 if `word` is UINT32_MAX. */
static LLVMValueRef load_operand_word(struct low_prog *p, uint32_t word)
{
	struct low *l = p->l;

	if (word == UINT32_MAX)
		return low_const(l, 0);
	return LLVMBuildLoad2(l->b, low_int(l, 8),
			      low_byte_ptr(l, p->env, low_const32(l, sizeof(struct gpubpf_env) + 8 * word)), "");
}

static LLVMValueRef load_argument(struct low_prog *p, const struct ctx_field *field, uint32_t i)
{
	struct low *l = p->l;
	size_t off;

	i = ctx_field_argument(field, i);
	if (ctx_captures(p->site->site))
		return load_operand_word(p, ctx_argument_word(i, p->site->site));
	if (i >= p->site->nparams)
		return low_const(l, 0);
	off = offsetof(struct gpubpf_env, arg) + 8 * i;
	return LLVMBuildLoad2(l->b, low_int(l, 8), low_byte_ptr(l, p->env, low_const32(l, off)), "");
}

static LLVMValueRef load_member(struct low_prog *p, const struct ctx_field *field)
{
	static const struct {
		const char *name;
		size_t off;
	} members[] = {
		{ "launch", offsetof(struct gpubpf_env, launch) },
		{ "kernel", offsetof(struct gpubpf_env, kernel_id) },
		{ "device", offsetof(struct gpubpf_env, device) },
	};
	const typeof(*members) *m = members;
	struct low *l = p->l;
	LLVMValueRef v;

	while (strcmp(m->name, field->name))
		m++;
	v = LLVMBuildLoad2(l->b, low_int(l, field->size), low_byte_ptr(l, p->env, low_const32(l, m->off)), "");
	return LLVMBuildZExt(l->b, v, low_int(l, 8), "");
}

static LLVMValueRef load_device(struct low_prog *p, const struct ctx_field *field, uint32_t i)
{
	LLVMValueRef index = low_const32(p->l, i);
	char name[64];

	snprintf(name, sizeof(name), "gpubpf_ctx_%s", field->name);
	return low_call(p->l, name, &index, 1);
}

static LLVMValueRef load_operand(struct low_prog *p, const struct ctx_field *field, uint32_t i)
{
	return load_operand_word(p, ctx_field_word(field, i, p->site->site));
}

static LLVMValueRef load_lanes(struct low_prog *p, const struct ctx_field *field, uint32_t i)
{
	LLVMValueRef word = load_operand(p, field, i);
	enum gpubpf_site site = p->site->site;

	if (low_has_registers(p) && gpubpf_place_kind(site)->operands & GPUBPF_GIVES_BRANCH &&
	    !strcmp(field->name, "branch.lanes"))
		return low_branch_taken_mask(p->l, word, load_operand_word(p, ctx_word_of("branch.active", site)));
	return low_call(p->l, "gpubpf_lanes_given", &word, 1);
}

static LLVMValueRef load_element(struct low_prog *p, const struct ctx_field *field, uint32_t i)
{
	switch (field->source) {
	case ARG:
		return load_argument(p, field, i);
	case ENV:
		return load_member(p, field);
	case CONST:
		return low_const(p->l, ctx_field_constant(field, i, p->site));
	case DEVICE:
		return load_device(p, field, i);
	case PLACE:
		return load_operand(p, field, i);
	case LANES:
		return load_lanes(p, field, i);
	}
	return NULL;
}

/* Shifts v, an element at offset `from` of the context, to its position in a read at offset `off`. */
static LLVMValueRef shift_to(struct low *l, LLVMValueRef v, uint32_t from, uint32_t off)
{
	return from >= off ? LLVMBuildShl(l->b, v, low_const(l, 8 * (from - off)), "") :
			     LLVMBuildLShr(l->b, v, low_const(l, 8 * (off - from)), "");
}

LLVMValueRef low_ctx(struct low_prog *p, uint32_t off, unsigned width)
{
	struct low *l = p->l;
	LLVMValueRef sum = low_const(l, 0);

	for (uint32_t k = 0; k < ctx_nfields; k++)
		for (uint32_t i = 0; i < ctx_fields[k].count; i++) {
			uint32_t from = ctx_fields[k].off + i * ctx_fields[k].size;
			LLVMValueRef v;

			if (from + ctx_fields[k].size <= off || from >= off + width)
				continue;
			v = load_element(p, &ctx_fields[k], i);
			if (!v)
				return NULL;
			sum = LLVMBuildOr(l->b, sum, shift_to(l, v, from, off), "");
		}
	if (width == 8)
		return sum;
	return LLVMBuildZExt(l->b, LLVMBuildTrunc(l->b, sum, low_int(l, width), ""), low_int(l, 8), "");
}
