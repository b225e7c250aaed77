/* SPDX-License-Identifier: Apache-2.0 */
/* The context has no memory: a read is put together from the fields (core/ctx_fields.def) it covers. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "gpubpf/ctx.h"
#include "llvm_low.h"

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

static LLVMValueRef argument(struct low_prog *p, const struct field *field, uint32_t i)
{
	static const char *const regs[] = { "di", "si", "dx", "cx", "r8", "r9" };
	struct low *l = p->l;
	size_t off;

	for (uint32_t r = 0; r < sizeof(regs) / sizeof(regs[0]); r++)
		if (!strcmp(field->name, regs[r]))
			i = r;
	if (i >= p->site->nparams)
		return low_const(l, 0);
	off = offsetof(struct gpubpf_env, arg) + 8 * i;
	return LLVMBuildLoad2(l->b, low_int(l, 8), low_byte_ptr(l, p->env, low_const32(l, off)), "");
}

static LLVMValueRef member(struct low_prog *p, const struct field *field)
{
	bool launch = !strcmp(field->name, "launch");
	size_t off = launch ? offsetof(struct gpubpf_env, launch) : offsetof(struct gpubpf_env, device);
	struct low *l = p->l;
	LLVMValueRef v = LLVMBuildLoad2(l->b, low_int(l, launch ? 8 : 4), low_byte_ptr(l, p->env, low_const32(l, off)), "");

	return LLVMBuildZExt(l->b, v, low_int(l, 8), "");
}

static uint64_t constant(const struct low_prog *p, const struct field *field, uint32_t i)
{
	char name[GPUBPF_CTX_NAME] = "";
	uint64_t word;

	if (!strcmp(field->name, "kernel"))
		return p->site->kernel_id;
	if (!strcmp(field->name, "site"))
		return p->site->site;
	if (!strcmp(field->name, "nargs"))
		return p->site->nparams;
	snprintf(name, sizeof(name), "%.*s", GPUBPF_CTX_NAME - 1, p->site->kernel);
	memcpy(&word, name + 8 * i, sizeof(word));
	return word;
}

static LLVMValueRef device(struct low_prog *p, const struct field *field, uint32_t i)
{
	LLVMValueRef index = low_const32(p->l, i);
	char name[64];

	snprintf(name, sizeof(name), "gpubpf_ctx_%s", field->name);
	return low_call(p->l, name, &index, 1);
}

static LLVMValueRef element(struct low_prog *p, const struct field *field, uint32_t i)
{
	switch (field->source) {
	case ARG:
		return argument(p, field, i);
	case ENV:
		return member(p, field);
	case CONST:
		return low_const(p->l, constant(p, field, i));
	case DEVICE:
		return device(p, field, i);
	}
	return NULL;
}

/* v of an element at `from`, moved to where it lies in a read that begins at `off` */
static LLVMValueRef moved(struct low *l, LLVMValueRef v, uint32_t from, uint32_t off)
{
	return from >= off ? LLVMBuildShl(l->b, v, low_const(l, 8 * (from - off)), "") :
			     LLVMBuildLShr(l->b, v, low_const(l, 8 * (off - from)), "");
}

LLVMValueRef low_ctx(struct low_prog *p, uint32_t off, unsigned width)
{
	struct low *l = p->l;
	LLVMValueRef sum = low_const(l, 0);

	for (size_t k = 0; k < sizeof(fields) / sizeof(fields[0]); k++)
		for (uint32_t i = 0; i < fields[k].count; i++) {
			uint32_t from = fields[k].off + i * fields[k].size;
			LLVMValueRef v;

			if (from + fields[k].size <= off || from >= off + width)
				continue;
			v = element(p, &fields[k], i);
			if (!v)
				return NULL;
			sum = LLVMBuildOr(l->b, sum, moved(l, v, from, off), "");
		}
	if (width == 8)
		return sum;
	return LLVMBuildZExt(l->b, LLVMBuildTrunc(l->b, sum, low_int(l, width), ""), low_int(l, 8), "");
}
