/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes at single instructions: what the place gives goes into words behind the kernel's environment, of which the program
 * reads some; then the site is called. Functions that the kernel calls are given the environment as one parameter more, if
 * there are such places in them or in what they call. A function that several twins call asks the environment whose it is.
 * Nothing of the original moves, and no block is split: what depends on a condition is a function of its own.
 */
#include "around.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "core/lower/ctx.h"

/* -- values -- */

static uint32_t made(struct inject *in, struct spv_words *out, uint32_t op, uint32_t type, uint32_t a)
{
	uint32_t id = spv_id(&in->b);

	SPV_OP(out, op, type, id, a);
	return id;
}

static uint32_t made2(struct inject *in, struct spv_words *out, uint32_t op, uint32_t type, uint32_t a, uint32_t b)
{
	uint32_t id = spv_id(&in->b);

	SPV_OP(out, op, type, id, a, b);
	return id;
}

uint32_t spv_element(struct inject *in, struct spv_words *out, uint32_t type, uint32_t base, uint32_t i)
{
	bool known = i < sizeof(in->index) / sizeof(*in->index);
	uint32_t at = known ? in->index[i] : 0;

	if (!at)
		at = spv_u64(&in->b, i);
	if (known)
		in->index[i] = at;
	return made2(in, out, SpvOpInBoundsPtrAccessChain, type, base, at);
}

/* An integer of the module as 64 bits without a sign. */
static uint32_t widened(struct inject *in, struct spv_words *out, uint32_t id)
{
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(in->b.m, gpubpf_spv_type_of(in->b.m, id));

	return t && gpubpf_spv_word(in->b.m, t, 2) == 64 ? id : made(in, out, SpvOpUConvert, in->u64, id);
}

static uint32_t address_of(struct inject *in, struct spv_words *out, const struct spv_access *a)
{
	uint32_t at = made(in, out, SpvOpConvertPtrToU, in->u64, a->pointer), by;

	if (!a->index)
		return at;
	by = made2(in, out, SpvOpIMul, in->u64, widened(in, out, a->index), spv_u64(&in->b, a->stride));
	return made2(in, out, SpvOpIAdd, in->u64, at, by);
}

static uint32_t bytes_of(struct inject *in, struct spv_words *out, const struct spv_access *a)
{
	uint32_t bytes = spv_u64(&in->b, a->bytes);

	return a->many ? made2(in, out, SpvOpIMul, in->u64, widened(in, out, a->many), bytes) : bytes;
}

static uint32_t space_of(const struct spv_access *a)
{
	return __builtin_popcount(a->spaces) == 1 ? __builtin_ctz(a->spaces) : GPUBPF_GENERIC;
}

/* -- what a place gives -- */

/* one place's text being made */
struct around {
	struct inject *in;
	struct spv_words *out;
	const struct gpubpf_spv_place *place;
	struct spv_access access;
	enum gpubpf_barrier_kind barrier;
	uint32_t env;
	uint64_t reads;
};

static void store(struct around *a, uint32_t word, uint32_t value)
{
	uint32_t at = spv_element(a->in, a->out, a->in->p64, a->env, ENV_WORDS + word);

	SPV_OP(a->out, SpvOpStore, at, value, SpvMemoryAccessAlignedMask, 8);
}

static void store_number(struct around *a, uint32_t word, uint64_t n)
{
	store(a, word, spv_u64(&a->in->b, n));
}

static void put_place(struct around *a, uint32_t word)
{
	store_number(a, word, a->place->id);
}

static void put_line(struct around *a, uint32_t word)
{
	store_number(a, word, a->place->line);
}

static void put_address(struct around *a, uint32_t word)
{
	store(a, word, address_of(a->in, a->out, &a->access));
}

static void put_bytes(struct around *a, uint32_t word)
{
	store(a, word, bytes_of(a->in, a->out, &a->access));
}

static void put_access(struct around *a, uint32_t word)
{
	store_number(a, word, a->access.access);
}

static void put_space(struct around *a, uint32_t word)
{
	store_number(a, word, space_of(&a->access));
}

static void put_count(struct around *a, uint32_t word)
{
	store_number(a, word, a->access.count);
}

/* The elements of a vector that the first 16 bytes have. */
static uint32_t first_elements(struct around *a, uint32_t value, uint32_t *type)
{
	const struct gpubpf_spv *m = a->in->b.m;
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, *type);
	uint32_t each = a->access.bytes / a->access.count, n = each ? 16 / each : 0, id, words[4 + 16];

	if (!t || t->op != SpvOpTypeVector || a->access.bytes <= 16 || !n)
		return value;
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

/* Over zeros, as memory has it. Both words at once, with the first that is read. */
static void put_value(struct around *a, uint32_t word)
{
	struct inject *in = a->in;
	uint32_t first = ctx_word_of("mem.value", a->place->kind), value = a->access.value;
	uint32_t type = gpubpf_spv_type_of(in->b.m, value), pointer, at;

	if (word != first && a->reads >> first & 1)
		return;
	store_number(a, first, 0);
	store_number(a, first + 1, 0);
	if (!value)
		return;
	value = first_elements(a, value, &type);
	pointer = SPV_TYPE(&in->b, SpvOpTypePointer, SpvStorageClassFunction, type);
	at = spv_element(in, a->out, in->p64, a->env, ENV_WORDS + first);
	if (pointer != in->p64)
		at = made(in, a->out, SpvOpBitcast, pointer, at);
	SPV_OP(a->out, SpvOpStore, at, value, SpvMemoryAccessAlignedMask, 8);
}

/* A number of the module, whose bits are at most 64, as memory has it. */
static void store_bits(struct around *a, uint32_t word, uint32_t value)
{
	struct inject *in = a->in;
	uint32_t type = gpubpf_spv_type_of(in->b.m, value), pointer, at = spv_id(&in->b);
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(in->b.m, type);

	if (t && t->op == SpvOpTypeBool) {
		SPV_OP(a->out, SpvOpSelect, in->u64, at, value, spv_u64(&in->b, 1), spv_u64(&in->b, 0));
		store(a, word, at);
		return;
	}
	store_number(a, word, 0);
	pointer = SPV_TYPE(&in->b, SpvOpTypePointer, SpvStorageClassFunction, type);
	at = spv_element(in, a->out, in->p64, a->env, ENV_WORDS + word);
	if (pointer != in->p64)
		at = made(in, a->out, SpvOpBitcast, pointer, at);
	SPV_OP(a->out, SpvOpStore, at, value, SpvMemoryAccessAlignedMask, 8);
}

static void put_operation(struct around *a, uint32_t word)
{
	store_number(a, word, a->access.rmw);
}

static void put_atomic_operand(struct around *a, uint32_t word)
{
	if (a->access.operand)
		store_bits(a, word, a->access.operand);
	else
		store_number(a, word, a->access.one);
}

static void put_old(struct around *a, uint32_t word)
{
	store_bits(a, word, a->access.old);
}

/* Of the whole block, the grid or a sub-group: none has a number. */
static void put_barrier_id(struct around *a, uint32_t word)
{
	store_number(a, word, 0);
}

static void put_barrier_kind(struct around *a, uint32_t word)
{
	store_number(a, word, a->barrier);
}

static const struct {
	const char *field;
	void (*put)(struct around *a, uint32_t word);
} fields[] = {
	{ "place", put_place }, { "line", put_line }, { "mem.addr", put_address }, { "mem.offset", put_address },
	{ "mem.value", put_value }, { "mem.bytes", put_bytes }, { "mem.access", put_access }, { "mem.space", put_space },
	{ "mem.count", put_count }, { "atomic.op", put_operation }, { "atomic.operand", put_atomic_operand },
	{ "atomic.old", put_old }, { "barrier.id", put_barrier_id }, { "barrier.kind", put_barrier_kind },
};

static void put_operand(struct around *a, const struct ctx_field *field, uint32_t i)
{
	uint32_t word = ctx_field_word(field, i, a->place->kind), f = 0;

	if (word == UINT32_MAX || !(a->reads >> word & 1))
		return;
	while (strcmp(fields[f].field, field->name))
		f++;
	fields[f].put(a, word);
}

static void put_operands(struct around *a)
{
	for (uint32_t k = 0; k < ctx_nfields; k++)
		for (uint32_t i = 0; i < ctx_fields[k].count; i++)
			put_operand(a, &ctx_fields[k], i);
}

/* -- sites -- */

static uint32_t declare_site(struct inject *in, uint32_t site)
{
	struct spv_build *b = &in->b;
	uint32_t declared = in->declared[site];
	char name[32];

	if (declared)
		return declared;
	declared = in->declared[site] = spv_id(b);
	snprintf(name, sizeof(name), "gpubpf_site_%u", site);
	spv_op_string(&b->decorations, SpvOpDecorate, (uint32_t[]){ declared, SpvDecorationLinkageAttributes }, 2, name,
		      (uint32_t[]){ SpvLinkageTypeImport }, 1);
	SPV_OP(&b->declarations, SpvOpFunction, in->u32, declared, SpvFunctionControlMaskNone, in->site_type);
	SPV_OP(&b->declarations, SpvOpFunctionParameter, in->p64, spv_id(b));
	spv_op(&b->declarations, SpvOpFunctionEnd, NULL, 0);
	return declared;
}

uint32_t spv_call_site(struct inject *in, struct spv_words *out, uint32_t site, uint32_t env)
{
	return made2(in, out, SpvOpFunctionCall, in->u32, declare_site(in, site), env);
}

/* Call the site and return, if the condition holds; go on in a block of its own if not. */
static void call_if(struct inject *in, struct spv_words *out, uint32_t condition, uint32_t site, uint32_t env)
{
	uint32_t then = spv_id(&in->b), after = spv_id(&in->b);

	SPV_OP(out, SpvOpBranchConditional, condition, then, after);
	SPV_OP(out, SpvOpLabel, then);
	spv_call_site(in, out, site, env);
	spv_op(out, SpvOpReturn, NULL, 0);
	SPV_OP(out, SpvOpLabel, after);
}

/* A variable of the lane's three indices in its block: the module's, or ours. */
static uint32_t local_id(struct inject *in)
{
	struct spv_build *b = &in->b;
	const struct gpubpf_spv *m = b->m;
	uint32_t vector, pointer;

	for (uint32_t i = 0; i < m->functions && !in->local_id; i++)
		if (m->insn[i].op == SpvOpDecorate && gpubpf_spv_word(m, &m->insn[i], 2) == SpvDecorationBuiltIn &&
		    gpubpf_spv_word(m, &m->insn[i], 3) == SpvBuiltInLocalInvocationId)
			in->local_id = gpubpf_spv_word(m, &m->insn[i], 1);
	if (in->local_id)
		return in->local_id;
	in->local_id = spv_id(b);
	vector = SPV_TYPE(b, SpvOpTypeVector, in->u64, 3);
	pointer = SPV_TYPE(b, SpvOpTypePointer, SpvStorageClassInput, vector);
	SPV_OP(&b->types, SpvOpVariable, pointer, in->local_id, SpvStorageClassInput);
	SPV_OP(&b->decorations, SpvOpDecorate, in->local_id, SpvDecorationBuiltIn, SpvBuiltInLocalInvocationId);
	return in->local_id;
}

/* Is the lane its block's first? */
static uint32_t is_first_lane(struct inject *in, struct spv_words *out)
{
	const struct gpubpf_spv *m = in->b.m;
	uint32_t variable = local_id(in), vector = SPV_TYPE(&in->b, SpvOpTypeVector, in->u64, 3), element = in->u64, all, zero;
	const struct gpubpf_spv_insn *t = gpubpf_spv_def(m, gpubpf_spv_type_of(m, variable));

	t = t ? gpubpf_spv_def(m, gpubpf_spv_word(m, t, 3)) : NULL;
	if (t && t->op == SpvOpTypeVector) {
		vector = gpubpf_spv_word(m, t, 1);
		element = gpubpf_spv_word(m, t, 2);
	}
	variable = made(in, out, SpvOpLoad, vector, variable);
	all = made2(in, out, SpvOpCompositeExtract, element, variable, 0);
	for (uint32_t i = 1; i < 3; i++)
		all = made2(in, out, SpvOpBitwiseOr, element, all,
			    made2(in, out, SpvOpCompositeExtract, element, variable, i));
	zero = spv_id(&in->b);
	SPV_OP(&in->b.types, SpvOpConstantNull, element, zero);
	return made2(in, out, SpvOpIEqual, spv_type(&in->b, SpvOpTypeBool, NULL, 0), all, zero);
}

/* A function of ours that calls the sites of n bodies, all at one place: that of the environment's kernel; where only its
 * first lane is meant, by that. */
static uint32_t choose(struct inject *in, const struct spv_body *body, uint32_t n, bool first_lane)
{
	struct spv_words *out = &in->definitions;
	uint32_t type = SPV_TYPE(&in->b, SpvOpTypeFunction, in->none, in->p64), id = spv_id(&in->b), env = spv_id(&in->b);
	uint32_t boolean = spv_type(&in->b, SpvOpTypeBool, NULL, 0), is, kernel, word;

	SPV_OP(out, SpvOpFunction, in->none, id, SpvFunctionControlMaskNone, type);
	SPV_OP(out, SpvOpFunctionParameter, in->p64, env);
	SPV_OP(out, SpvOpLabel, spv_id(&in->b));
	word = spv_element(in, out, in->p64, env, ENV_WORD(kernel_id));
	kernel = spv_id(&in->b);
	SPV_OP(out, SpvOpLoad, in->u64, kernel, word, SpvMemoryAccessAlignedMask, 8);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t site = body[i].place.site;

		is = made2(in, out, SpvOpIEqual, boolean, kernel, spv_u64(&in->b, in->job->sites[site].kernel_id));
		if (first_lane)
			is = made2(in, out, SpvOpLogicalAnd, boolean, is, is_first_lane(in, out));
		call_if(in, out, is, site, env);
	}
	spv_op(out, SpvOpReturn, NULL, 0);
	spv_op(out, SpvOpFunctionEnd, NULL, 0);
	return id;
}

void spv_call_first(struct inject *in, struct spv_words *out, uint32_t site, uint32_t env)
{
	struct spv_body body = { .place.site = site };

	made2(in, out, SpvOpFunctionCall, in->none, choose(in, &body, 1, true), env);
}

/* -- places -- */

static bool is_after(const struct spv_body *body)
{
	return gpubpf_place_kind(body->place.kind)->when == GPUBPF_WHEN_AFTER;
}

static bool same_place(const struct spv_body *a, const struct spv_body *b)
{
	return a->place.insn == b->place.insn && a->place.access == b->place.access && a->place.kind == b->place.kind;
}

/* n bodies of one place. */
static void put_bodies(struct inject *in, const struct spv_body *body, uint32_t n, uint32_t function, struct spv_words *out)
{
	struct around a = { .in = in, .out = out, .place = &body->place, .env = in->env[function] };
	struct spv_access accesses[SPV_MOST_ACCESSES];
	const char *unseen;

	if (gpubpf_place_kind(body->place.kind)->spaces && gpubpf_spv_accesses(in->b.m, body->place.insn, accesses))
		a.access = accesses[body->place.access];
	gpubpf_spv_barrier(in->b.m, &in->b.m->insn[body->place.insn], &a.barrier, &unseen);
	for (uint32_t i = 0; i < n; i++)
		a.reads |= in->reads[body[i].place.site];
	put_operands(&a);
	if (n == 1 && !a.access.group)
		spv_call_site(in, out, body->place.site, a.env);
	else
		made2(in, out, SpvOpFunctionCall, in->none, choose(in, body, n, a.access.group), a.env);
}

static void put_all(struct inject *in, uint32_t insn, uint32_t function, bool after, struct spv_words *out)
{
	uint32_t first = in->next, n;

	while (first < in->nbodies && in->body[first].place.insn < insn)
		first++;
	in->next = first;
	for (; first < in->nbodies && in->body[first].place.insn == insn; first += n) {
		for (n = 1; first + n < in->nbodies && same_place(&in->body[first], &in->body[first + n]);)
			n++;
		if (is_after(&in->body[first]) == after)
			put_bodies(in, &in->body[first], n, function, out);
	}
}

static void write_call(struct inject *in, uint32_t insn, uint32_t function, struct spv_words *out)
{
	const struct gpubpf_spv_insn *call = &in->b.m->insn[insn];
	uint32_t env = in->env[function];

	if (!env && !in->undef) {
		in->undef = spv_id(&in->b);
		SPV_OP(&in->b.types, SpvOpUndef, in->p64, in->undef);
	}
	spv_append(out, &(uint32_t){ (call->n + 1u) << SpvWordCountShift | SpvOpFunctionCall }, 1);
	spv_append(out, in->b.m->words + call->at + 1, call->n - 1);
	spv_append(out, env ? &env : &in->undef, 1);
	out->failed |= call->n == UINT16_MAX;
}

bool spv_takes_env(const struct inject *in, uint32_t function)
{
	return function < in->b.m->bound && in->takes_env[function];
}

void spv_write_before(struct inject *in, uint32_t insn, uint32_t function, struct spv_words *out)
{
	put_all(in, insn, function, false, out);
}

void spv_write_insn(struct inject *in, uint32_t insn, uint32_t function, struct spv_words *out)
{
	const struct gpubpf_spv *m = in->b.m;

	put_all(in, insn, function, false, out);
	if (m->insn[insn].op == SpvOpFunctionCall && spv_takes_env(in, gpubpf_spv_word(m, &m->insn[insn], 3)))
		write_call(in, insn, function, out);
	else
		spv_append(out, m->words + m->insn[insn].at, m->insn[insn].n);
	put_all(in, insn, function, true, out);
}

/* With the type that has the environment behind the others. */
static void write_head(struct inject *in, uint32_t insn, struct spv_words *out)
{
	const struct gpubpf_spv *m = in->b.m;
	const struct gpubpf_spv_insn *f = &m->insn[insn], *type = gpubpf_spv_def(m, gpubpf_spv_word(m, f, 4));
	uint32_t n = type && type->op == SpvOpTypeFunction && type->n > 2 ? type->n - 2 : 0;
	uint32_t *types = calloc(n + 1, sizeof(*types));

	if (!types || !n) {
		out->failed = true;
		free(types);
		return;
	}
	memcpy(types, m->words + type->at + 2, n * sizeof(*types));
	types[n] = in->p64;
	SPV_OP(out, SpvOpFunction, gpubpf_spv_word(m, f, 1), gpubpf_spv_word(m, f, 2), gpubpf_spv_word(m, f, 3),
	       spv_type(&in->b, SpvOpTypeFunction, types, n + 1));
	free(types);
}

void spv_write_function(struct inject *in, uint32_t insn, uint32_t function, bool *first, struct spv_words *out)
{
	uint16_t op = in->b.m->insn[insn].op;

	if (op == SpvOpFunction && spv_takes_env(in, function)) {
		write_head(in, insn, out);
		return;
	}
	if (op == SpvOpLabel) {
		if (*first && spv_takes_env(in, function))
			SPV_OP(out, SpvOpFunctionParameter, in->p64, in->env[function]);
		*first = false;
	}
	spv_write_insn(in, insn, function, out);
}

/* -- before the twins -- */

static int compare(const void *a, const void *b)
{
	const struct spv_body *x = a, *y = b;
	const uint32_t keys[][2] = { { x->place.insn, y->place.insn },
				     { !gpubpf_place_has_name(x->place.kind), !gpubpf_place_has_name(y->place.kind) },
				     { x->place.access, y->place.access },
				     { x->place.kind, y->place.kind }, { x->place.site, y->place.site } };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

static int gather(struct inject *in, const struct gpubpf_spv_wrap *wraps, uint32_t nwraps)
{
	size_t n = 0;

	for (uint32_t i = 0; i < nwraps; i++)
		n += wraps[i].nplaces;
	in->body = calloc(n + 1, sizeof(*in->body));
	in->declared = calloc(in->job->nsites + 1, sizeof(*in->declared));
	in->reads = calloc(in->job->nsites + 1, sizeof(*in->reads));
	in->env = calloc(in->b.m->bound, sizeof(*in->env));
	in->takes_env = calloc(in->b.m->bound, 1);
	if (!in->body || !in->declared || !in->reads || !in->env || !in->takes_env)
		return -ENOMEM;
	for (uint32_t i = 0; i < nwraps; i++)
		for (uint32_t k = 0; k < wraps[i].nplaces; k++)
			in->body[in->nbodies++] = (struct spv_body){ wraps[i].places[k], wraps[i].kernel };
	qsort(in->body, in->nbodies, sizeof(*in->body), compare);
	for (uint32_t i = 0; i < in->nbodies; i++) {
		uint32_t site = in->body[i].place.site, words = ctx_words(in->body[i].place.kind);

		in->words = words > in->words ? words : in->words;
		in->reads[site] = in->reads[site] ? in->reads[site] : gpubpf_env_words(in->job, site);
	}
	return 0;
}

static bool is_entry(const struct gpubpf_spv *m, uint32_t function)
{
	for (uint32_t i = 0; i < m->functions; i++)
		if (m->insn[i].op == SpvOpEntryPoint && gpubpf_spv_word(m, &m->insn[i], 2) == function)
			return true;
	return false;
}

/* Functions with places in them, or in what they call, until nothing changes; kernels are none. */
static void spread(struct inject *in)
{
	const struct gpubpf_spv *m = in->b.m;
	uint32_t function = 0, at = 0;
	bool changed = in->nbodies, kernel = false;

	while (changed) {
		changed = false;
		at = 0;
		for (uint32_t i = m->functions; i < m->ninsns; i++) {
			bool has = at < in->nbodies && in->body[at].place.insn == i;

			while (at < in->nbodies && in->body[at].place.insn == i)
				at++;
			if (m->insn[i].op == SpvOpFunction) {
				function = gpubpf_spv_word(m, &m->insn[i], 2);
				kernel = is_entry(m, function);
			}
			has |= m->insn[i].op == SpvOpFunctionCall && spv_takes_env(in, gpubpf_spv_word(m, &m->insn[i], 3));
			if (!has || kernel || in->takes_env[function])
				continue;
			in->takes_env[function] = 1;
			in->env[function] = spv_id(&in->b);
			changed = true;
		}
	}
}

int spv_around_init(struct inject *in, const struct gpubpf_spv_wrap *wraps, uint32_t nwraps)
{
	int err = gather(in, wraps, nwraps);

	if (!err)
		spread(in);
	return err;
}

void spv_around_finish(struct inject *in)
{
	free(in->body);
	free(in->declared);
	free(in->reads);
	free(in->env);
	free(in->takes_env);
	free(in->definitions.data);
}
