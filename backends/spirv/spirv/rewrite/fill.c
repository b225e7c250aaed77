/* SPDX-License-Identifier: Apache-2.0 */
#include "fill.h"

#include "place_values.h"

static uint32_t emit_unary(struct spv_fill *f, uint32_t op, uint32_t type, uint32_t operand)
{
	return spv_emit_unary(f->in, f->body, op, type, operand);
}

/*
 * Declare a variable, with an OpLifetimeStart as clang emits it for every variable. Without OpLifetimeStart, Intel's
 * runtime 2026.2 miscompiles an array that all lanes fill equally. If a function that is not inlined receives the
 * array, vectorized code writes only one lane's copy.
 */
static uint32_t declare_variable(struct spv_fill *f, uint32_t type, uint32_t bytes)
{
	uint32_t pointer = SPV_TYPE(&f->in->b, SpvOpTypePointer, SpvStorageClassFunction, type);
	uint32_t id = spv_id(&f->in->b);

	SPV_OP(f->variables, SpvOpVariable, pointer, id, SpvStorageClassFunction);
	SPV_OP(f->body, SpvOpLifetimeStart, emit_unary(f, SpvOpBitcast, f->in->p8, id), bytes);
	return id;
}

static uint32_t declare_array(struct spv_fill *f, uint32_t element, uint32_t n, uint32_t size)
{
	uint32_t count = spv_u32(&f->in->b, n);

	return declare_variable(f, SPV_TYPE(&f->in->b, SpvOpTypeArray, element, count), n * size);
}

uint32_t spv_new_env(struct spv_fill *f)
{
	return emit_unary(f, SpvOpBitcast, f->in->p64, declare_array(f, f->in->u64, spv_twin_word(f->in) + 1, 8));
}

uint32_t spv_new_bytes(struct spv_fill *f, uint32_t type, uint32_t size, uint32_t *id)
{
	*id = declare_variable(f, type, size);
	return emit_unary(f, SpvOpBitcast, f->in->p8, *id);
}

static uint32_t element_pointer(struct spv_fill *f, uint32_t type, uint32_t base, uint32_t index)
{
	return spv_element_pointer(f->in, f->body, type, base, index);
}

static void store_word(struct spv_fill *f, uint32_t word, uint32_t what)
{
	SPV_OP(f->body, SpvOpStore, element_pointer(f, f->in->p64, f->env, word), what, SpvMemoryAccessAlignedMask, 8);
}

/* Returns the id of a u8 pointer to the parameter's bytes in private memory. */
static uint32_t bytes_pointer(struct spv_fill *f, uint32_t i)
{
	const struct gpubpf_spv_insn *type = gpubpf_spv_def(f->in->b.m, f->owner->param_type[i]);
	bool by_value = type->op == SpvOpTypePointer && f->owner->info.params[i].kind == GPUBPF_PARAM_BYTES;
	uint32_t at = f->param[i];

	if (!by_value) {
		at = declare_variable(f, f->owner->param_type[i], f->owner->info.params[i].size);
		SPV_OP(f->body, SpvOpStore, at, f->param[i]);
	}
	return emit_unary(f, SpvOpBitcast, f->in->p8, at);
}

void spv_copy_bytes(struct inject *in, struct spv_words *out, uint32_t to, uint32_t from, uint32_t size)
{
	uint32_t n = spv_u64(&in->b, size);

	SPV_OP(out, SpvOpCopyMemorySized, to, from, n, SpvMemoryAccessAlignedMask, 1);
}

/*
 * Convert an argument to an unsigned 64-bit integer. The argument of a function, unlike that of a kernel, may be a
 * boolean.
 */
static uint32_t widen_arg(struct spv_fill *f, uint32_t i, uint32_t bits)
{
	const struct gpubpf_spv_insn *type = gpubpf_spv_def(f->in->b.m, f->owner->param_type[i]);
	uint32_t id;

	if (type->op != SpvOpTypeBool)
		return f->owner->info.params[i].size < 8 ? emit_unary(f, SpvOpUConvert, f->in->u64, bits) : bits;
	id = spv_id(&f->in->b);
	SPV_OP(f->body, SpvOpSelect, f->in->u64, id, bits, spv_u64(&f->in->b, 1), spv_u64(&f->in->b, 0));
	return id;
}

/* Store argument i in the environment, in the representation of include/gpubpf/ctx.h. */
static void store_arg(struct spv_fill *f, uint32_t i)
{
	const struct gpubpf_param *p = &f->owner->info.params[i];
	uint32_t word = ENV_WORD(arg) + i, bits = f->param[i];

	if (p->size == 2) /* a module that uses only 16-bit floats may lack the capability Int16 */
		spv_capability(&f->in->b, SpvCapabilityInt16);
	switch (p->kind) {
	case GPUBPF_PARAM_FLOAT:
		bits = emit_unary(f, SpvOpBitcast, SPV_TYPE(&f->in->b, SpvOpTypeInt, 8 * p->size, 0), bits);
		/* fall through */
	case GPUBPF_PARAM_INT:
		store_word(f, word, widen_arg(f, i, bits));
		return;
	case GPUBPF_PARAM_POINTER:
	case GPUBPF_PARAM_LOCAL:
		store_word(f, word, emit_unary(f, SpvOpConvertPtrToU, f->in->u64, bits));
		return;
	case GPUBPF_PARAM_BYTES:
		store_word(f, word, spv_u64(&f->in->b, 0));
		spv_copy_bytes(f->in, f->body,
			       emit_unary(f, SpvOpBitcast, f->in->p8, element_pointer(f, f->in->p64, f->env, word)),
			       bytes_pointer(f, i), p->size < 8 ? p->size : 8);
		return;
	case GPUBPF_PARAM_OPAQUE:
		store_word(f, word, spv_u64(&f->in->b, 0));
		return;
	}
}

/*
 * Copy the parameters that helper 520 reads to an array, at the offsets that the site assigns. Store the array's
 * address in the environment.
 */
static void store_bytes(struct spv_fill *f)
{
	uint32_t size = gpubpf_env_bytes(&f->use, f->site), word, bytes;

	word = element_pointer(f, f->in->p64, f->env, ENV_WORD(arg_bytes));
	if (!size) {
		SPV_OP(f->body, SpvOpStore, word, spv_u64(&f->in->b, 0), SpvMemoryAccessAlignedMask, 8);
		return;
	}
	bytes = emit_unary(f, SpvOpBitcast, f->in->p8, declare_array(f, f->in->u8, size, 1));
	for (uint32_t i = 0; i < f->site->nparams && i < f->owner->info.nparams; i++)
		if (gpubpf_env_reads_bytes(&f->use, f->site, i))
			spv_copy_bytes(f->in, f->body, element_pointer(f, f->in->p8, bytes, f->site->params[i].bytes_off),
				       bytes_pointer(f, i), f->owner->info.params[i].size);
	SPV_OP(f->body, SpvOpStore,
	       emit_unary(f, SpvOpBitcast, SPV_TYPE(&f->in->b, SpvOpTypePointer, SpvStorageClassFunction, f->in->p8), word),
	       bytes, SpvMemoryAccessAlignedMask, 8);
}

void spv_fill_args(struct spv_fill *f)
{
	for (uint32_t i = 0; i < GPUBPF_ENV_ARGS; i++)
		if (f->use.args >> i & 1 && i < f->owner->info.nparams)
			store_arg(f, i);
		else if (f->use.args >> i & 1)
			store_word(f, ENV_WORD(arg) + i, spv_u64(&f->in->b, 0));
	store_bytes(f);
}
