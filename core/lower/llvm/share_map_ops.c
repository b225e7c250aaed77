/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowers map operations that are hundreds of instructions long (struct gpubpf_map_impl lists them). If a module calls
 * such an operation more than once, the operation becomes a function. All maps that differ only in their location share
 * this function, in which the sizes are constants. An operation that is called once is inlined.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "low.h"

#define PREFIX "gpubpf_shared_"
#define OWN (NWORDS + 2) /* number of parameters before the operation's own parameters */

/*
 * Members of the environment that operations may read. Each is passed by value. Passing the environment's address would
 * force the environment, and the place's operands after it, into memory at every probe. LLVM removes parameters that
 * the operation does not read.
 */
static const size_t words[] = {
	offsetof(struct gpubpf_env, arena),    offsetof(struct gpubpf_env, launch),
	offsetof(struct gpubpf_env, pid_tgid), offsetof(struct gpubpf_env, kernel_id),
	offsetof(struct gpubpf_env, device),   offsetof(struct gpubpf_env, clock_offset),
};
#define NWORDS (sizeof(words) / sizeof(words[0]))
_Static_assert(offsetof(struct gpubpf_env, flags) == offsetof(struct gpubpf_env, device) + 4, "one word");

static bool same_shape(const struct gpubpf_map_layout *a, const struct gpubpf_map_layout *b)
{
	return a->flags == b->flags && a->key_size == b->key_size && a->value_size == b->value_size &&
	       a->max_entries == b->max_entries && a->copies == b->copies && a->stride == b->stride &&
	       a->copy_stride == b->copy_stride;
}

/*
 * Declares the shared function. Its parameters are the words of the environment, ctl, data, and the operation's own
 * arguments.
 */
static LLVMValueRef declare(struct low *l, const char *op, const LLVMValueRef *args, unsigned n)
{
	LLVMTypeRef params[32];
	char name[96];
	LLVMValueRef fn;

	for (unsigned i = 0; i < OWN; i++)
		params[i] = low_int(l, 8);
	for (unsigned i = LOW_OWN; i < n; i++)
		params[i - LOW_OWN + OWN] = LLVMTypeOf(args[i]);
	snprintf(name, sizeof(name), PREFIX "%s", op);
	fn = LLVMAddFunction(l->mod, name, LLVMFunctionType(low_int(l, 8), params, n - LOW_OWN + OWN, false));
	LLVMSetLinkage(fn, LLVMInternalLinkage);
	LLVMSetFunctionCallConv(fn, l->target->site_cc);
	return fn;
}

static bool define(struct low *l, const char *op, LLVMValueRef fn, const LLVMValueRef *args, unsigned n)
{
	LLVMBasicBlockRef at = LLVMGetInsertBlock(l->b);
	LLVMValueRef inner[24], v;

	LLVMPositionBuilderAtEnd(l->b, LLVMAppendBasicBlockInContext(l->ctx, fn, ""));
	inner[0] = low_env(l, sizeof(struct gpubpf_env));
	for (unsigned i = 0; i < NWORDS; i++)
		low_env_set(l, inner[0], words[i], LLVMGetParam(fn, i));
	for (unsigned i = 1; i < n; i++)
		inner[i] = i == LOW_CTL  ? LLVMGetParam(fn, NWORDS) :
			   i == LOW_DATA ? LLVMGetParam(fn, NWORDS + 1) :
			   i < LOW_OWN   ? args[i] :
					   LLVMGetParam(fn, i - LOW_OWN + OWN);
	v = low_call(l, op, inner, n);
	LLVMBuildRet(l->b, v ? v : low_const(l, 0));
	LLVMPositionBuilderAtEnd(l->b, at);
	return v != NULL;
}

static LLVMValueRef find(struct low *l, const char *op, const struct gpubpf_map_layout *layout,
			 const LLVMValueRef *args, unsigned n)
{
	struct low_shared *s;

	for (s = l->shared; s; s = s->next)
		if (!strcmp(s->op, op) && same_shape(s->shape, layout))
			return s->fn;
	s = gpubpf_pool_alloc(l->pool, 1, sizeof(*s));
	if (!s)
		return NULL;
	snprintf(s->op, sizeof(s->op), "%s", op);
	s->shape = layout;
	s->fn = declare(l, op, args, n);
	s->next = l->shared;
	l->shared = s;
	return define(l, op, s->fn, args, n) ? s->fn : NULL;
}

LLVMValueRef low_call_shared(struct low *l, const char *op, const struct gpubpf_map_layout *layout,
			     const LLVMValueRef *args, unsigned n)
{
	LLVMValueRef fn = find(l, op, layout, args, n), passed[32], v;

	if (!fn)
		return NULL;
	for (unsigned i = 0; i < NWORDS; i++)
		passed[i] = LLVMBuildLoad2(l->b, low_int(l, 8), low_byte_ptr(l, args[0], low_const32(l, words[i])), "");
	passed[NWORDS] = args[LOW_CTL];
	passed[NWORDS + 1] = args[LOW_DATA];
	for (unsigned i = LOW_OWN; i < n; i++)
		passed[i - LOW_OWN + OWN] = args[i];
	v = LLVMBuildCall2(l->b, LLVMGlobalGetValueType(fn), fn, passed, n - LOW_OWN + OWN, "");
	LLVMSetInstructionCallConv(v, l->target->site_cc);
	return v;
}

bool low_shared_has_one_call(LLVMValueRef fn)
{
	size_t n;
	const char *name = LLVMGetValueName2(fn, &n);
	LLVMUseRef use = LLVMGetFirstUse(fn);

	return strncmp(name, PREFIX, sizeof(PREFIX) - 1) || !use || !LLVMGetNextUse(use);
}
