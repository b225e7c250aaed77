/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: adds probes before or after single instructions.
 * Before: the places of the function, with their probes (place_probes.c).
 * After: a { } block has the instruction, its probe, and registers for the place's operands. The operands are read
 * before the instruction, which may overwrite them; results are read after it.
 * Requires: cuda_probe.reads. Operands that the probe does not read are not computed.
 */
#include "insn_probe.h"

#include <string.h>

#include "core/lower/ctx.h"
#include "operands.h"

#define WITHIN "%%gpubpf_in" /* predicate: this lane's access belongs to the place, so the lane runs the probe */
#define GUARD "%%gpubpf_g"   /* copy of the instruction's predicate, from before the instruction */

uint32_t ptx_line_of(const struct insn_place *a)
{
	return a->in->m->tokens[a->in->m->nodes[a->at->place.node].name].line;
}

void ptx_emit_constant(struct insn_place *a, uint32_t word, uint64_t value)
{
	put(a, "mov.b64 " PTX_OPERAND "%u, %llu;\n", word, (unsigned long long)value);
}

static void emit_place_id(struct insn_place *a, uint32_t word, uint32_t i)
{
	ptx_emit_constant(a, word, a->at->place.id);
}

static void emit_line(struct insn_place *a, uint32_t word, uint32_t i)
{
	ptx_emit_constant(a, word, a->at->place.line);
}

static const struct {
	const char *field;
	void (*emit)(struct insn_place *a, uint32_t word, uint32_t i);
	enum gpubpf_when when; /* whether the field is read before or after the instruction */
} fields[] = {
	{ "place", emit_place_id },
	{ "line", emit_line },
	{ "mem.addr", ptx_emit_address },
	{ "mem.offset", ptx_emit_offset },
	{ "mem.value", ptx_emit_value },
	{ "mem.bytes", ptx_emit_bytes },
	{ "mem.access", ptx_emit_access },
	{ "mem.space", ptx_emit_space },
	{ "mem.count", ptx_emit_count },
	{ "mem.hint", ptx_emit_hint },
	{ "branch.lanes", ptx_emit_lanes },
	{ "branch.taken", ptx_emit_taken },
	{ "branch.active", ptx_emit_active },
	{ "barrier.id", ptx_emit_barrier },
	{ "barrier.kind", ptx_emit_barrier_kind },
	{ "atomic.op", ptx_emit_rmw },
	{ "atomic.operand", ptx_emit_operand },
	{ "atomic.old", ptx_emit_old, GPUBPF_WHEN_AFTER },
	{ "operand", ptx_emit_register },
	{ "mark", ptx_emit_mark },
};

/* -- which lanes run the probe -- */

/* Returns the number of lanes that hold the address of a matrix row. These are the first lanes of the warp. */
static uint32_t lanes_with_rows(const struct insn_place *a)
{
	const struct ptx_node *insn = &a->in->m->nodes[a->at->place.node];

	if (a->access.how != PTX_BYTES_ROW || ptx_has_modifier(a->in, insn, ".x4"))
		return 32;
	return ptx_has_modifier(a->in, insn, ".x2") ? 16 : 8;
}

/* Returns true if the address may lie in a state space that the place's kind does not cover. */
static bool needs_space_check(const struct insn_place *a)
{
	return a->kind->spaces && a->access.spaces & ~a->kind->spaces;
}

/* Emits code that computes WITHIN, if only some of the lanes that execute the instruction run the probe. */
static void emit_within(struct insn_place *a)
{
	if (lanes_with_rows(a) < 32) {
		put(a, ".reg .pred " WITHIN ";\n{\n.reg .b32 %%gpubpf_w;\nmov.u32 %%gpubpf_w, %%laneid;\n");
		put(a, "setp.lt.u32 " WITHIN ", %%gpubpf_w, %u;\n}\n", lanes_with_rows(a));
	} else if (needs_space_check(a)) {
		ptx_need_address(a);
		ptx_check_constants(a);
		put(a, ".reg .pred " WITHIN ";\n");
		put(a, "isspacep.%s " WITHIN ", " PTX_AT ";\n", ptx_isspacep_name(a, a->kind->spaces & a->access.spaces));
	}
}

static bool is_after(const struct ptx_site *at)
{
	return gpubpf_place_kind(at->place.kind)->when == GPUBPF_WHEN_AFTER;
}

/*
 * Returns the token of the instruction's predicate, or PTX_NONE. A branch's predicate does not count: all lanes execute
 * the branch, and the predicate only decides where they continue.
 */
static uint32_t guard_of(const struct insn_place *a)
{
	return a->control.kind == PTX_BRANCHES ? PTX_NONE : a->in->m->nodes[a->at->place.node].guard;
}

static void save_guard(struct insn_place *a)
{
	const struct ptx_module *m = a->in->m;
	uint32_t guard = guard_of(a);

	if (guard != PTX_NONE)
		put(a, ".reg .pred " GUARD ";\nmov.pred " GUARD ", %.*s;\n", (int)m->tokens[guard].len,
		    ptx_token_text(m, guard));
}

/* -- the place -- */

static void emit_operand(struct insn_place *a, const struct ctx_field *field, uint32_t i, enum gpubpf_when when)
{
	uint32_t word = ctx_field_word(field, i, a->at->place.kind), f = 0;

	if (word == UINT32_MAX || !(a->at->probe->reads >> word & 1))
		return;
	while (strcmp(fields[f].field, field->name))
		f++;
	if (when == GPUBPF_WHEN_BEFORE)
		put(a, ".reg .b64 " PTX_OPERAND "%u;\n", word);
	if (when == fields[f].when)
		fields[f].emit(a, word, i);
}

static void emit_operands(struct insn_place *a, enum gpubpf_when when)
{
	for (uint32_t k = 0; k < ctx_nfields; k++)
		for (uint32_t i = 0; i < ctx_fields[k].count; i++)
			emit_operand(a, &ctx_fields[k], i, when);
}

/* Adds the probe. Lanes whose predicate or WITHIN is false branch over it. */
static void emit_probe(struct insn_place *a)
{
	const struct ptx_module *m = a->in->m;
	uint32_t meeting = ptx_begin_reconverge(a->in, &a->text, a->at->probe), label = ++a->in->labels,
		 guard = guard_of(a);

	if (guard != PTX_NONE)
		put(a, "@%s" GUARD " bra $gpubpf_over_%u;\n", ptx_token_is(m, guard - 1, "!") ? "" : "!", label);
	if (needs_space_check(a) || lanes_with_rows(a) < 32)
		put(a, "@!" WITHIN " bra $gpubpf_over_%u;\n", label);
	if (a->at->probe->reads_active_mask && a->at->active_mask == PTX_ACTIVE_OWN)
		put(a, "%s", CUDA_DECLARE_ACTIVE CUDA_READ_ACTIVE);
	if (a->at->probe->reads_place_const)
		put(a, ".reg .b32 %" CUDA_PLACE_CONST ";\nmov.b32 %" CUDA_PLACE_CONST ", %d;\n",
		    ptx_has_constant_bytes(a));
	ptx_load_accumulators(a->in, &a->text, a->at);
	ptx_add_probe(a->in, &a->text, a->at->probe);
	ptx_store_accumulators(a->in, &a->text, a->at);
	put(a, "$gpubpf_over_%u:\n", label);
	ptx_end_reconverge(a->in, &a->text, meeting);
	put(a, "}\n");
}

static void check_probe(struct insn_place *a, uint32_t function)
{
	const struct ptx_module *m = a->in->m;
	const struct ptx_node *insn = &m->nodes[a->at->place.node];
	int len = ptx_token_text(m, insn->operands - 1) + m->tokens[insn->operands - 1].len -
		  ptx_token_text(m, insn->name);

	if (a->access.unseen)
		ptx_refuse(a->in, "gpu/%s/ cannot observe %s, which %.*s uses (PTX line %u)", a->kind->name,
			   a->access.unseen, len, ptx_token_text(m, insn->name), ptx_line_of(a));
	if (a->at->probe->reads_params && function != a->in->kernel_node)
		ptx_refuse(a->in,
			   "a program that reads the kernel's arguments cannot run in a function that the kernel calls (PTX line %u)",
			   ptx_line_of(a));
	else
		ptx_check_params(a->in, a->at->probe, function, a->at->place.node);
}

/* Describes the access of the instruction (a->access), or its barrier or branch (a->control), for the place's kind. */
static void look_up(struct insn_place *a)
{
	struct ptx_access accesses[PTX_MAX_ACCESSES];
	uint32_t node = a->at->place.node;

	if (a->kind->spaces) {
		ptx_accesses(a->in->m, node, accesses);
		a->access = accesses[a->at->place.access];
		return;
	}
	if (!(a->kind->operands & (GPUBPF_GIVES_BARRIER | GPUBPF_GIVES_BRANCH)))
		return;
	a->control = ptx_control(a->in->m, node);
	if (a->control.kind == PTX_WAITS && a->control.barrier == GPUBPF_BARRIER_OBJECT)
		a->access = ptx_describe_object(a->in->m, node, a->control.operand);
	else if (a->control.kind == PTX_UNKNOWN)
		a->access.unseen = "a barrier or branch that gpubpf does not know";
}

bool ptx_all_lanes_run(struct ptx_splice *in, const struct ptx_site *at)
{
	struct insn_place a = { .in = in, .at = at, .kind = gpubpf_place_kind(at->place.kind) };

	look_up(&a);
	return guard_of(&a) == PTX_NONE && !needs_space_check(&a) && lanes_with_rows(&a) == 32;
}

static void add_probe(struct ptx_splice *in, uint32_t function, const struct ptx_site *at, bool after)
{
	struct insn_place a = { .in = in, .at = at, .kind = gpubpf_place_kind(at->place.kind) };
	const struct ptx_node *insn = &in->m->nodes[at->place.node];
	uint32_t before = ptx_call_begin(in->m, at->place.node);

	look_up(&a);
	check_probe(&a, function);
	if (in->err)
		return;
	put(&a, after ? "\n" : "\n{\n");
	if (!after) {
		emit_within(&a);
		save_guard(&a);
	}
	emit_operands(&a, after ? GPUBPF_WHEN_AFTER : GPUBPF_WHEN_BEFORE);
	if (at->probe->reads_taken_mask)
		ptx_emit_taken_mask(&a);
	if (after || !is_after(at))
		emit_probe(&a);
	if (after)
		insn = &in->m->nodes[at->sunk_to];
	ptx_edit(in, PTX_INSERT, after || insn->kind == PTX_MARK ? insn->end : in->m->nodes[before].first, 0, a.text);
}

static void emit_active_mask(struct ptx_splice *in, uint32_t node)
{
	struct ptx_text text = { 0 };

	ptx_addf(&text, &in->err, "\n%s", CUDA_READ_ACTIVE);
	ptx_edit(in, PTX_INSERT, in->m->nodes[node].first, 0, text);
}

/*
 * Probes after the instruction run in the order of the places. Their { } blocks nest, so the blocks are opened in the
 * reverse order.
 */
void ptx_edit_insn_probes(struct ptx_splice *in, uint32_t function, const struct ptx_site *placed, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (placed[i].active_mask == PTX_ACTIVE_READ)
			emit_active_mask(in, placed[i].place.node);
	for (uint32_t i = 0; i < n; i++)
		if (placed[i].probe && !is_after(&placed[i]))
			add_probe(in, function, &placed[i], false);
	for (uint32_t i = n; i-- > 0;)
		if (placed[i].probe && is_after(&placed[i]))
			add_probe(in, function, &placed[i], false);
	for (uint32_t i = 0; i < n; i++)
		if (placed[i].probe && is_after(&placed[i]) && placed[i].sunk_to == placed[i].place.node)
			add_probe(in, function, &placed[i], true);
}

/*
 * Closes the { } blocks of sunk probes in the right order. The last instruction's probes come first, because its blocks
 * were opened last. The probes of one instruction come in the order of its places, because its blocks were opened in
 * reverse.
 */
void ptx_edit_sunk_probes(struct ptx_splice *in, uint32_t function, uint32_t node)
{
	const struct ptx_site *placed = in->placed;

	for (uint32_t i = in->next; i && placed[i - 1].place.node == node && node > in->open_run_last; i--)
		if (placed[i - 1].probe && placed[i - 1].sunk_to != node) {
			in->open_run_first = node;
			in->open_run_last = placed[i - 1].sunk_to;
		}
	for (uint32_t end = in->next, first;
	     node == in->open_run_last && end && placed[end - 1].place.node >= in->open_run_first; end = first) {
		for (first = end - 1; first && placed[first - 1].place.node == placed[first].place.node;)
			first--;
		for (uint32_t i = first; i < end; i++)
			if (placed[i].probe && placed[i].sunk_to == node && placed[i].place.node != node)
				add_probe(in, function, &placed[i], true);
	}
}
