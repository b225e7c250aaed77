/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inserts probes at single instructions.
 *
 * Does: stores the values of a place in the words after the kernel's environment, then calls the site. Only words that
 * a BPF program reads are stored.
 * Before: in->body is empty; the wraps list the places with their sites.
 * After: each function that contains such a place, or calls such a function, takes the environment as an additional
 * parameter.
 * Requires: these functions are not called through pointers.
 *
 * If several twins call a function, the function reads the twin's number from the environment.
 * backends/spirv/spirv/rewrite/calls.h handles functions with BPF programs at their calls and returns. The original
 * instructions keep their order, and no basic block is split: conditional code is in a separate function.
 */
#include "insn_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "calls.h"
#include "core/lower/ctx.h"
#include "place_values.h"

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
	return spv_emit_binary(in, out, SpvOpFunctionCall, in->u32, declare_site(in, site), env);
}

/* Emit code: if the condition holds, call the site and return, otherwise continue in a new basic block. */
static void call_if(struct inject *in, struct spv_words *out, uint32_t condition, uint32_t site, uint32_t env)
{
	uint32_t then = spv_id(&in->b), after = spv_id(&in->b);

	SPV_OP(out, SpvOpBranchConditional, condition, then, after);
	SPV_OP(out, SpvOpLabel, then);
	spv_call_site(in, out, site, env);
	spv_op(out, SpvOpReturn, NULL, 0);
	SPV_OP(out, SpvOpLabel, after);
}

/*
 * Define a function for one place with n bodies of different twins. It calls the site of the twin whose number the
 * environment holds. If first_lane is true, only the first lane of a work-group calls the site.
 */
static uint32_t define_site_selector(struct inject *in, const struct spv_body *body, uint32_t n, bool first_lane)
{
	struct spv_words *out = &in->definitions;
	uint32_t type = SPV_TYPE(&in->b, SpvOpTypeFunction, in->void_type, in->p64), id = spv_id(&in->b);
	uint32_t env = spv_id(&in->b);
	uint32_t boolean = spv_type(&in->b, SpvOpTypeBool, NULL, 0), is, twin, word;

	SPV_OP(out, SpvOpFunction, in->void_type, id, SpvFunctionControlMaskNone, type);
	SPV_OP(out, SpvOpFunctionParameter, in->p64, env);
	SPV_OP(out, SpvOpLabel, spv_id(&in->b));
	word = spv_element_pointer(in, out, in->p64, env, spv_twin_word(in));
	twin = spv_id(&in->b);
	SPV_OP(out, SpvOpLoad, in->u64, twin, word, SpvMemoryAccessAlignedMask, 8);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t site = body[i].place.site;

		is = spv_emit_binary(in, out, SpvOpIEqual, boolean, twin, spv_u64(&in->b, body[i].twin));
		if (first_lane)
			is = spv_emit_binary(in, out, SpvOpLogicalAnd, boolean, is, spv_is_first_lane(in, out));
		call_if(in, out, is, site, env);
	}
	spv_op(out, SpvOpReturn, NULL, 0);
	spv_op(out, SpvOpFunctionEnd, NULL, 0);
	return id;
}

void spv_call_first(struct inject *in, struct spv_words *out, uint32_t site, uint32_t twin, uint32_t env)
{
	struct spv_body body = { .place.site = site, .twin = twin };

	spv_emit_binary(in, out, SpvOpFunctionCall, in->void_type, define_site_selector(in, &body, 1, true), env);
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

/* Emit code for the n bodies of one place: store the place's values, then call the site. */
static void insert_bodies(struct inject *in, const struct spv_body *body, uint32_t n, uint32_t function,
			  struct spv_words *out)
{
	const struct spv_call_sites *called = body->place.function ? spv_call_sites(in, function) : NULL;
	struct spv_place_writer a = { .in = in,
				      .out = out,
				      .place = &body->place,
				      .called = called,
				      .env = called ? called->env : in->env[function] };
	struct spv_access accesses[SPV_MAX_ACCESSES];
	const char *unseen;

	if (gpubpf_place_kind(body->place.kind)->spaces && gpubpf_spv_accesses(in->b.m, body->place.insn, accesses))
		a.access = accesses[body->place.access];
	gpubpf_spv_barrier(in->b.m, &in->b.m->insn[body->place.insn], &a.barrier, &unseen);
	for (uint32_t i = 0; i < n; i++)
		a.reads |= in->reads[body[i].place.site];
	spv_write_place_words(&a);
	if (n == 1 && !a.access.group)
		spv_call_site(in, out, body->place.site, a.env);
	else
		spv_emit_binary(in, out, SpvOpFunctionCall, in->void_type,
				define_site_selector(in, body, n, a.access.group), a.env);
}

static void insert_places(struct inject *in, uint32_t insn, uint32_t function, bool after, struct spv_words *out)
{
	const struct spv_call_sites *called = after ? NULL : spv_call_sites(in, function);
	uint32_t first = in->next, n;

	if (called && called->top == insn)
		spv_append(out, called->body.data, called->body.n);
	while (first < in->nbodies && in->body[first].place.insn < insn)
		first++;
	in->next = first;
	for (; first < in->nbodies && in->body[first].place.insn == insn; first += n) {
		for (n = 1; first + n < in->nbodies && same_place(&in->body[first], &in->body[first + n]);)
			n++;
		if (is_after(&in->body[first]) == after)
			insert_bodies(in, &in->body[first], n, function, out);
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
	insert_places(in, insn, function, false, out);
}

/*
 * Returns true if the instruction must stand directly before a branch (sections 2.11 and 3.52.17). Code for a place at
 * such a branch is inserted before this instruction.
 */
static bool is_merge(const struct gpubpf_spv *m, uint32_t insn)
{
	uint16_t op = m->insn[insn].op;

	return op == SpvOpLoopMerge || op == SpvOpSelectionMerge || op == SpvOpLoopControlINTEL;
}

void spv_write_insn(struct inject *in, uint32_t insn, uint32_t function, struct spv_words *out)
{
	const struct gpubpf_spv *m = in->b.m;

	if (!is_merge(m, insn - 1))
		insert_places(in, insn, function, false, out);
	if (is_merge(m, insn))
		insert_places(in, insn + 1, function, false, out);
	if (m->insn[insn].op == SpvOpFunctionCall && spv_takes_env(in, gpubpf_spv_word(m, &m->insn[insn], 3)))
		write_call(in, insn, function, out);
	else
		spv_append(out, m->words + m->insn[insn].at, m->insn[insn].n);
	insert_places(in, insn, function, true, out);
}

/* Write the function's OpFunction with a type that has the environment as an additional last parameter. */
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
	const struct spv_call_sites *called = spv_call_sites(in, function);
	uint16_t op = in->b.m->insn[insn].op;

	if (op == SpvOpFunction && spv_takes_env(in, function)) {
		write_head(in, insn, out);
		return;
	}
	if (op == SpvOpLabel) {
		if (*first && spv_takes_env(in, function))
			SPV_OP(out, SpvOpFunctionParameter, in->p64, in->env[function]);
		spv_write_insn(in, insn, function, out);
		if (*first && called)
			spv_append(out, called->variables.data, called->variables.n);
		*first = false;
		return;
	}
	spv_write_insn(in, insn, function, out);
}

/* -- preparation -- */

/* Returns the order of a kind of place among the places at one instruction; lower numbers run first. */
static uint32_t rank(enum gpubpf_site kind)
{
	return kind == GPUBPF_SITE_CALL ? 0 : gpubpf_place_has_name(kind) ? 1 : kind == GPUBPF_SITE_CALL_EXIT ? 3 : 2;
}

static int compare(const void *a, const void *b)
{
	const struct spv_body *x = a, *y = b;
	const uint32_t keys[][2] = { { x->place.insn, y->place.insn },
				     { rank(x->place.kind), rank(y->place.kind) },
				     { x->place.access, y->place.access },
				     { x->place.kind, y->place.kind },
				     { x->place.site, y->place.site } };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

static int collect_bodies(struct inject *in, const struct gpubpf_spv_wrap *wraps, uint32_t nwraps)
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
			in->body[in->nbodies++] = (struct spv_body){ wraps[i].places[k], i };
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

/*
 * Mark functions that contain places or call marked functions, until no more functions are marked. Kernels are not
 * marked.
 */
static void mark_env_functions(struct inject *in)
{
	const struct gpubpf_spv *m = in->b.m;
	uint32_t function = 0, at = 0;
	bool changed = in->nbodies, kernel = false;

	while (changed) {
		changed = false;
		at = 0;
		for (uint32_t i = m->functions; i < m->ninsns; i++) {
			bool needs_env = at < in->nbodies && in->body[at].place.insn == i;

			while (at < in->nbodies && in->body[at].place.insn == i)
				at++;
			if (m->insn[i].op == SpvOpFunction) {
				function = gpubpf_spv_word(m, &m->insn[i], 2);
				kernel = is_entry(m, function);
			}
			needs_env |= m->insn[i].op == SpvOpFunctionCall &&
				     spv_takes_env(in, gpubpf_spv_word(m, &m->insn[i], 3));
			if (!needs_env || kernel || in->takes_env[function])
				continue;
			in->takes_env[function] = 1;
			in->env[function] = spv_id(&in->b);
			changed = true;
		}
	}
}

int spv_insn_probes_init(struct inject *in, const struct gpubpf_spv_wrap *wraps, uint32_t nwraps)
{
	int err = collect_bodies(in, wraps, nwraps);

	if (err)
		return err;
	mark_env_functions(in);
	return spv_calls_init(in);
}

void spv_insn_probes_finish(struct inject *in)
{
	free(in->body);
	free(in->declared);
	free(in->reads);
	free(in->env);
	free(in->takes_env);
	free(in->definitions.data);
	spv_calls_finish(in);
}
