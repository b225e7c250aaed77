/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits code that stores the values of a place, such as addresses and operands. The code stores them in the words that
 * follow the kernel's environment. Only words that a BPF program reads are stored.
 */
#include "place_values.h"

#include <string.h>

#include "core/lower/ctx.h"
#include "fill.h"
#include "backends/spirv/spirv/module/named.h"

/* -- values -- */

uint32_t spv_emit_unary(struct inject *in, struct spv_words *out, uint32_t op, uint32_t type, uint32_t a)
{
	uint32_t id = spv_id(&in->b);

	SPV_OP(out, op, type, id, a);
	return id;
}

uint32_t spv_emit_binary(struct inject *in, struct spv_words *out, uint32_t op, uint32_t type, uint32_t a, uint32_t b)
{
	uint32_t id = spv_id(&in->b);

	SPV_OP(out, op, type, id, a, b);
	return id;
}

uint32_t spv_element_pointer(struct inject *in, struct spv_words *out, uint32_t type, uint32_t base, uint32_t i)
{
	bool known = i < sizeof(in->index) / sizeof(*in->index);
	uint32_t at = known ? in->index[i] : 0;

	if (!at)
		at = spv_u64(&in->b, i);
	if (known)
		in->index[i] = at;
	return spv_emit_binary(in, out, SpvOpInBoundsPtrAccessChain, type, base, at);
}

/* Zero-extend an integer value of the module to 64 bits. */
static uint32_t widen(struct inject *in, struct spv_words *out, uint32_t id)
{
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(in->b.m, gpubpf_spv_type_of(in->b.m, id));

	return t && gpubpf_spv_word(in->b.m, t, 2) == 64 ? id : spv_emit_unary(in, out, SpvOpUConvert, in->u64, id);
}

static uint32_t get_address(struct inject *in, struct spv_words *out, const struct spv_access *a)
{
	uint32_t at = spv_emit_unary(in, out, SpvOpConvertPtrToU, in->u64, a->pointer), by;

	if (!a->index)
		return at;
	by = spv_emit_binary(in, out, SpvOpIMul, in->u64, widen(in, out, a->index), spv_u64(&in->b, a->stride));
	return spv_emit_binary(in, out, SpvOpIAdd, in->u64, at, by);
}

static uint32_t get_bytes(struct inject *in, struct spv_words *out, const struct spv_access *a)
{
	uint32_t bytes = spv_u64(&in->b, a->bytes);

	return a->times ? spv_emit_binary(in, out, SpvOpIMul, in->u64, widen(in, out, a->times), bytes) : bytes;
}

static uint32_t get_space(const struct spv_access *a)
{
	return __builtin_popcount(a->spaces) == 1 ? __builtin_ctz(a->spaces) : GPUBPF_GENERIC;
}

/* -- values of a place -- */

static void store_word(struct spv_place_writer *a, uint32_t word, uint32_t value)
{
	uint32_t at = spv_element_pointer(a->in, a->out, a->in->p64, a->env, ENV_WORDS + word);

	SPV_OP(a->out, SpvOpStore, at, value, SpvMemoryAccessAlignedMask, 8);
}

static void store_number(struct spv_place_writer *a, uint32_t word, uint64_t n)
{
	store_word(a, word, spv_u64(&a->in->b, n));
}

static void put_place(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	store_number(a, word, a->place->id);
}

static void put_line(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	store_number(a, word, a->place->line);
}

static void put_address(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	store_word(a, word, get_address(a->in, a->out, &a->access));
}

static void put_bytes(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	store_word(a, word, get_bytes(a->in, a->out, &a->access));
}

static void put_access(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	store_number(a, word, a->access.access);
}

static void put_space(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	store_number(a, word, get_space(&a->access));
}

static void put_count(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	store_number(a, word, a->access.count);
}

/*
 * Store the hints of a load or store, from its memory operands (section 3.26). A copy may have separate operands for
 * its target and its source; only the first are read.
 */
static void put_hint(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	const struct gpubpf_spv *m = a->in->b.m;
	const struct gpubpf_spv_insn *insn = &m->insn[a->place->insn];
	uint32_t at = insn->op == SpvOpLoad || insn->op == SpvOpCopyMemorySized ? 4 : 3;
	bool says = (insn->op == SpvOpLoad || insn->op == SpvOpStore || insn->op == SpvOpCopyMemory ||
		     insn->op == SpvOpCopyMemorySized) &&
		    insn->n > at;
	uint32_t mask = says ? gpubpf_spv_word(m, insn, at) : 0;

	store_number(a, word,
		     (mask & SpvMemoryAccessVolatileMask ? GPUBPF_HINT_VOLATILE : 0) |
			     (mask & SpvMemoryAccessNontemporalMask ? GPUBPF_HINT_STREAM : 0));
}

/*
 * Extract the first elements of a vector, as many as fit in `most` bytes; an element has `each` bytes. The result is a
 * vector, or a scalar if only one element fits. *type becomes the type of the result.
 */
static uint32_t extract_first_elements(struct spv_place_writer *a, uint32_t value, uint32_t *type, uint32_t each,
				       uint32_t most)
{
	const struct gpubpf_spv *m = a->in->b.m;
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, *type);
	uint32_t n = each ? most / each : 0, id, words[4 + 16];

	if (!t || t->op != SpvOpTypeVector || gpubpf_spv_word(m, t, 3) <= n || !n || n > 16)
		return value;
	if (n == 1) {
		*type = gpubpf_spv_word(m, t, 2);
		return spv_emit_binary(a->in, a->out, SpvOpCompositeExtract, *type, value, 0);
	}
	*type = SPV_TYPE(&a->in->b, SpvOpTypeVector, gpubpf_spv_word(m, t, 2), n);
	id = spv_id(&a->in->b);
	words[0] = *type;
	words[1] = id;
	words[2] = words[3] = value;
	for (uint32_t i = 0; i < n; i++)
		words[4 + i] = i;
	spv_op(a->out, SpvOpVectorShuffle, words, 4 + n);
	return id;
}

/* Store a value as its own type, without a conversion to u64. */
static void store_as(struct spv_place_writer *a, uint32_t word, uint32_t value, uint32_t type)
{
	struct inject *in = a->in;
	uint32_t pointer = SPV_TYPE(&in->b, SpvOpTypePointer, SpvStorageClassFunction, type);
	uint32_t at = spv_element_pointer(in, a->out, in->p64, a->env, ENV_WORDS + word);

	if (pointer != in->p64)
		at = spv_emit_unary(in, a->out, SpvOpBitcast, pointer, at);
	SPV_OP(a->out, SpvOpStore, at, value, SpvMemoryAccessAlignedMask, 8);
}

/*
 * Store mem.value, which has two words: zero both, then store the value. If BPF programs read both words, the call for
 * the first word writes both.
 */
static void put_value(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	uint32_t first = ctx_word_of("mem.value", a->place->kind), value = a->access.value;
	uint32_t type = gpubpf_spv_type_of(a->in->b.m, value);

	if (word != first && a->reads >> first & 1)
		return;
	store_number(a, first, 0);
	store_number(a, first + 1, 0);
	if (!value)
		return;
	if (a->access.bytes > 16)
		value = extract_first_elements(a, value, &type, a->access.bytes / a->access.count, 16);
	store_as(a, first, value, type);
}

static void store_bool(struct spv_place_writer *a, uint32_t word, uint32_t value)
{
	uint32_t id = spv_id(&a->in->b);

	SPV_OP(a->out, SpvOpSelect, a->in->u64, id, value, spv_u64(&a->in->b, 1), spv_u64(&a->in->b, 0));
	store_word(a, word, id);
}

/* Store the first 8 bytes of a number or vector of numbers, without conversion. */
static void store_bits(struct spv_place_writer *a, uint32_t word, uint32_t value, uint32_t type)
{
	const struct gpubpf_spv *m = a->in->b.m;
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, type);
	uint32_t each, align;

	store_number(a, word, 0);
	if (t->op == SpvOpTypeVector) {
		if (!gpubpf_spv_layout(m, gpubpf_spv_word(m, t, 2), &each, &align))
			return;
		value = extract_first_elements(a, value, &type, each, 8);
	}
	store_as(a, word, value, type);
}

/* Store a pointer's address, or 0 if it does not point to memory. */
static void store_pointer(struct spv_place_writer *a, uint32_t word, uint32_t value)
{
	if (gpubpf_spv_is_memory(a->in->b.m, value))
		store_word(a, word, spv_emit_unary(a->in, a->out, SpvOpConvertPtrToU, a->in->u64, value));
	else
		store_number(a, word, 0);
}

/*
 * Store a value of the module. A boolean becomes 0 or 1. An aggregate is stored as its first member. A value without
 * bits becomes 0.
 */
static void store_any(struct spv_place_writer *a, uint32_t word, uint32_t value)
{
	const struct gpubpf_spv *m = a->in->b.m;
	uint32_t type = gpubpf_spv_type_of(m, value), made = value, size, align;
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, type), *of;

	for (unsigned depth = 0; t && depth < 8; depth++) {
		of = t->op == SpvOpTypeVector ? gpubpf_spv_def(m, gpubpf_spv_word(m, t, 2)) : NULL;
		if (t->op != SpvOpTypeStruct && t->op != SpvOpTypeArray && !(of && of->op == SpvOpTypeBool))
			break;
		type = gpubpf_spv_word(m, t, 2);
		if (!type)
			break;
		made = spv_emit_binary(a->in, a->out, SpvOpCompositeExtract, type, made, 0);
		t = gpubpf_spv_def(m, type);
	}
	if (t && t->op == SpvOpTypeBool)
		store_bool(a, word, made);
	else if (t && t->op == SpvOpTypePointer && made == value)
		store_pointer(a, word, value);
	else if (t && (t->op == SpvOpTypeInt || t->op == SpvOpTypeFloat || t->op == SpvOpTypeVector) &&
		 gpubpf_spv_layout(m, type, &size, &align))
		store_bits(a, word, made, type);
	else
		store_number(a, word, 0);
}

static void put_operation(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	store_number(a, word, a->access.rmw);
}

static void put_atomic_operand(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	if (a->access.operand)
		store_any(a, word, a->access.operand);
	else
		store_number(a, word, a->access.operand_is_one);
}

static void put_old(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	store_any(a, word, a->access.old);
}

/* Barriers have no number in SPIR-V. */
static void put_barrier_id(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	store_number(a, word, 0);
}

static void put_barrier_kind(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	store_number(a, word, a->barrier);
}

static void put_taken(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	const struct gpubpf_spv *m = a->in->b.m;
	const struct gpubpf_spv_insn *insn = &m->insn[a->place->insn];

	if (insn->op == SpvOpBranchConditional)
		store_bool(a, word, gpubpf_spv_word(m, insn, 1));
	else
		store_number(a, word, 1);
}

/* It is unknown which lanes execute together with this lane, so the mask has one bit. */
static void put_active(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	store_number(a, word, 1);
}

static void put_operand(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	uint32_t ids[GPUBPF_SPV_OPERANDS], n = gpubpf_spv_operands(a->in->b.m, &a->in->b.m->insn[a->place->insn], ids);

	if (i < n)
		store_any(a, word, ids[i]);
	else
		store_number(a, word, 0);
}

static void put_mark(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	store_any(a, word, gpubpf_spv_mark_value(a->in->b.m, &a->in->b.m->insn[a->place->insn]));
}

static void put_result(struct spv_place_writer *a, uint32_t word, uint32_t i)
{
	const struct gpubpf_spv *m = a->in->b.m;
	const struct spv_call_sites *c = a->called;
	uint32_t value = gpubpf_spv_word(m, &m->insn[a->place->insn], 1);

	if (m->insn[a->place->insn].op != SpvOpReturnValue || !c->result) {
		store_any(a, word, m->insn[a->place->insn].op == SpvOpReturnValue ? value : 0);
		return;
	}
	store_number(a, word, 0);
	SPV_OP(a->out, SpvOpStore, c->result, value);
	spv_copy_bytes(a->in, a->out,
		       spv_emit_unary(a->in, a->out, SpvOpBitcast, a->in->p8,
				      spv_element_pointer(a->in, a->out, a->in->p64, a->env, ENV_WORDS + word)),
		       c->result_bytes, c->size < 8 ? c->size : 8);
}

static const struct {
	const char *field;
	void (*put)(struct spv_place_writer *a, uint32_t word, uint32_t i);
} fields[] = {
	{ "place", put_place },
	{ "line", put_line },
	{ "mem.addr", put_address },
	{ "mem.offset", put_address },
	{ "mem.value", put_value },
	{ "mem.bytes", put_bytes },
	{ "mem.access", put_access },
	{ "mem.space", put_space },
	{ "mem.count", put_count },
	{ "mem.hint", put_hint },
	{ "atomic.op", put_operation },
	{ "atomic.operand", put_atomic_operand },
	{ "atomic.old", put_old },
	{ "barrier.id", put_barrier_id },
	{ "barrier.kind", put_barrier_kind },
	{ "branch.taken", put_taken },
	{ "branch.lanes", put_taken },
	{ "branch.active", put_active },
	{ "operand", put_operand },
	{ "mark", put_mark },
	{ "result", put_result },
};

#define NFIELDS (sizeof(fields) / sizeof(*fields))

/*
 * Store element i of a field if BPF programs read it. Each field has a row in fields[] (tests/ci/fields).
 */
static void put_field(struct spv_place_writer *a, const struct ctx_field *field, uint32_t i)
{
	uint32_t word = ctx_field_word(field, i, a->place->kind), f = 0;

	if (word == UINT32_MAX || !(a->reads >> word & 1))
		return;
	while (f < NFIELDS && strcmp(fields[f].field, field->name))
		f++;
	if (f < NFIELDS)
		fields[f].put(a, word, i);
}

void spv_write_place_words(struct spv_place_writer *a)
{
	for (uint32_t k = 0; k < ctx_nfields; k++)
		for (uint32_t i = 0; i < ctx_fields[k].count; i++)
			put_field(a, &ctx_fields[k], i);
}
