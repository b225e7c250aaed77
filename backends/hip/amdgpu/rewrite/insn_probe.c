/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates the stubs of probes at single instructions of machine code. All registers may be live there. So the stub
 * saves every register that a probe uses, in vector registers above the kernel's. The stub also waits for the kernel's
 * outstanding memory operations. A probe body is the compiled code of a site, which the twin contains once.
 *
 *   `gpubpf_place_<i>`: the stub of patch i. A branch to this label replaces the instruction. The stub computes the
 *   operands and calls the bodies that run before the instruction. It executes the instruction, calls the bodies that
 *   run after it, and branches back. It saves s0 and s1 before it uses them. It never changes SCC or VCC, and it
 *   changes EXEC only for accesses that some lanes make. If the instruction narrows EXEC, the stub executes it first,
 *   to learn which lanes stay active. Then it calls the bodies with all lanes that were active before.
 *   `gpubpf_call_<b>`: calls body b (saved_state.c).
 */
#include <string.h>

#include "insn_text.h"

/* A call of a probe body from the stub of a place. */
struct call {
	uint32_t patch, body;            /* indices */
	uint32_t id;                     /* number of the place among the places of its kind */
	const struct hip_access *access; /* the memory access that the body observes, or NULL */
	uint32_t space;                  /* memory space of the addresses of the lanes for which the body runs */
	uint32_t *labels;                /* number of labels in the place's stub so far */
};

static void write_uniform_operands(struct hip_text *t, const struct call *c)
{
	const struct hip_patch *patch = &t->draft->code->patches[c->patch];
	const struct hip_access *a = c->access;
	uint32_t values[HIP_NCONSTANTS] = {
		[HIP_PLACE_ID] = c->id,
		[HIP_LINE] = patch->line,
		[HIP_BARRIER_KIND] = GPUBPF_BARRIER_BLOCK,
		[HIP_BYTES] = a ? a->bytes : 0,
		[HIP_ACCESS] = a ? a->access : 0,
		[HIP_SPACE] = c->space,
		[HIP_OP] = a ? a->op : 0,
		[HIP_HINT] = a ? a->hint : 0,
		[HIP_COUNT] = a && a->access != GPUBPF_ATOMIC && a->bytes > 4 ? a->bytes / 4 : 1,
	};

	for (uint32_t i = 0; i < HIP_NCONSTANTS; i++)
		if (t->draft->bodies[c->body].uniform_operands >> i & 1)
			fprintf(t->f, "\ts_mov_b32 s0, %#x\n%s\tv_writelane_b32 v%u, s0, %u\n", values[i],
				t->spelling->hazard_nop, t->draft->uniform_reg, i);
}

static void write_call(struct hip_text *t, const struct call *c)
{
	uint32_t label = (*c->labels)++;

	fprintf(t->f, "\ts_cbranch_execz gpubpf_skip_%u_%u\n", c->patch, label);
	write_uniform_operands(t, c);
	fprintf(t->f, "\ts_call_b64 s[0:1], gpubpf_call_%u\ngpubpf_skip_%u_%u:\n", c->body, c->patch, label);
}

/* Emits a call of the body for each of the memory spaces in `spaces`. During each call, only the lanes whose address is
 * in the space are active. */
static void call_by_space(struct hip_text *t, struct call *c, uint32_t spaces)
{
	bool several = __builtin_popcount(c->access->spaces) > 1;

	if (several || c->access->once)
		hip_save_exec(t, HIP_SAVED_ARRIVED);
	for (c->space = GPUBPF_GLOBAL; c->space <= GPUBPF_LOCAL; c->space++) {
		if (!(spaces & c->access->spaces & 1u << c->space))
			continue;
		if (several)
			hip_emit_space_filter(t, c->space);
		if (c->access->once) {
			fprintf(t->f, "\ts_cbranch_execz gpubpf_none_%u_%u\n", c->patch, *c->labels);
			hip_emit_outside_filter(t, HIP_KERNARG, t->draft->arguments);
			hip_emit_outside_filter(t, HIP_DISPATCH, 64);
			fprintf(t->f, "\ts_cbranch_execz gpubpf_none_%u_%u\n", c->patch, *c->labels);
			hip_emit_first_lane(t);
			fprintf(t->f, "gpubpf_none_%u_%u:\n", c->patch, *c->labels);
		}
		hip_emit_offset(t, c->space);
		write_call(t, c);
		if (several || c->access->once)
			hip_restore_exec(t, HIP_SAVED_ARRIVED);
	}
}

static bool is_of_function(enum gpubpf_site kind)
{
	return gpubpf_place_kind(kind)->where == GPUBPF_WHERE_FUNCTION;
}

/* Returns true if a body at patch i is for a place with a name (HIP_NAMED_SITES). The stub calls bodies at a function's
 * entry or return first, then bodies at named places, then bodies at accesses, barriers and branches. Each group uses
 * other operand registers. */
static bool has_named_body(const struct hip_text *t, uint32_t i)
{
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++)
		if (t->draft->site_body[i][0][kind].body && gpubpf_place_has_name(kind))
			return true;
	return false;
}

/* Returns true if a body at the access, barrier or branch runs before (or after) the instruction, as `when`
 * requests. */
static bool has_body(const struct hip_text *t, uint32_t i, uint32_t access, enum gpubpf_when when)
{
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++)
		if (t->draft->site_body[i][access][kind].body && gpubpf_place_kind(kind)->when == when &&
		    !gpubpf_place_has_name(kind) && !is_of_function(kind))
			return true;
	return false;
}

/* Returns true if patch i has a body for the entry or the return of its function. */
static bool has_function_body(const struct hip_text *t, uint32_t i)
{
	return t->draft->site_body[i][0][GPUBPF_SITE_CALL].body || t->draft->site_body[i][0][GPUBPF_SITE_CALL_EXIT].body;
}

static void call_all(struct hip_text *t, uint32_t i, uint32_t access, enum gpubpf_when when, uint32_t *labels)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];

	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
		const struct hip_site_body *site = &t->draft->site_body[i][access][kind];
		const struct gpubpf_place_kind *k = gpubpf_place_kind(kind);
		struct call c = { .patch = i, .body = site->body - 1, .id = site->id, .labels = labels };

		if (!site->body || k->when != when || gpubpf_place_has_name(kind) || is_of_function(kind))
			continue;
		if (k->spaces) {
			c.access = &patch->access[access];
			call_by_space(t, &c, k->spaces);
		} else {
			write_call(t, &c);
		}
	}
}

static bool has_bodies(const struct hip_text *t, uint32_t i, enum gpubpf_when when)
{
	return has_body(t, i, 0, when) || has_body(t, i, 1, when);
}

static void write_named(struct hip_text *t, uint32_t i, uint32_t *labels)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];

	hip_begin_stub(t);
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
		const struct hip_site_body *site = &t->draft->site_body[i][0][kind];

		if (!site->body || !gpubpf_place_has_name(kind))
			continue;
		if (kind == GPUBPF_SITE_INSN)
			hip_emit_register_operands(t, HIP_REGISTERS, patch->registers, HIP_MAX_REGISTERS);
		if (kind == GPUBPF_SITE_MARK)
			hip_emit_register_operands(t, HIP_MARKED, &patch->marked, 1);
		write_call(t, &(struct call){ .patch = i, .body = site->body - 1, .id = site->id, .labels = labels });
	}
	hip_end_stub(t);
}

/* Emits the calls of bodies at a function's entry or return. First it copies v0 and up, which hold the arguments or the
 * result by the calling convention. */
static void write_function(struct hip_text *t, uint32_t i, uint32_t *labels)
{
	uint32_t read = 0;

	for (uint32_t b = 0; b < t->draft->nbodies; b++)
		read |= is_of_function(t->draft->bodies[b].kind) ? t->draft->bodies[b].lane_operands : 0;
	hip_begin_stub(t);
	for (uint32_t reg = 0; reg < HIP_UNKNOWN_OPERAND; reg++)
		if (read >> reg & 1)
			fprintf(t->f, "\tv_mov_b32 v%u, v%u\n", t->draft->lane_reg[reg], reg);
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
		const struct hip_site_body *site = &t->draft->site_body[i][0][kind];

		if (site->body && is_of_function(kind))
			write_call(t,
				   &(struct call){ .patch = i, .body = site->body - 1, .id = site->id, .labels = labels });
	}
	hip_end_stub(t);
}

static void write_instruction(struct hip_text *t, uint32_t i)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];
	bool jumps = patch->kind == HIP_PATCH_BRANCH || patch->kind == HIP_PATCH_JUMP;

	if (patch->kind == HIP_PATCH_PC)
		fprintf(t->f, "\ts_branch gpubpf_pc_%u\n", i);
	else if (patch->kind == HIP_PATCH_CLAUSE)
		fputs("\ts_nop 0\n", t->f);
	else if (jumps)
		fprintf(t->f, "\t%s " HIP_STUB_WORD "\n", patch->name, patch->target);
	if (patch->kind == HIP_PATCH_PC || patch->kind == HIP_PATCH_CLAUSE || jumps || hip_write_replacement(t, patch))
		return;
	for (uint32_t off = 0; off < patch->size; off += 4) {
		uint32_t word;

		memcpy(&word, t->draft->bytes + patch->off + off, sizeof(word));
		fprintf(t->f, "\t.long %#x\n", word);
	}
}

static void emit_after(struct hip_text *t, uint32_t i, uint32_t *labels)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];

	for (uint32_t access = 0; access < HIP_MAX_ACCESSES; access++) {
		hip_emit_operands_after(t, patch, access);
		call_all(t, i, access, GPUBPF_WHEN_AFTER, labels);
	}
}

/* Emits the stub of a branch that either all lanes of the wave take, or none. */
static void write_branch(struct hip_text *t, uint32_t i, uint32_t *labels)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];
	const char *all = t->draft->wave32 ? "s_mov_b32 s0, exec_lo" : "s_mov_b64 s[0:1], exec";
	const char *none = t->draft->wave32 ? "s_mov_b32 s0, 0" : "s_mov_b64 s[0:1], 0";

	hip_begin_stub(t);
	fprintf(t->f, "\t%s\n\t%s gpubpf_taken_%u\n\t%s\ngpubpf_taken_%u:\n", all, patch->name, i, none, i);
	hip_emit_branch_operands(t, false);
	call_all(t, i, 0, GPUBPF_WHEN_BEFORE, labels);
	hip_end_stub(t);
	write_instruction(t, i);
}

/* Emits the stub of an instruction that removes lanes from EXEC (HIP_PATCH_NARROW_EXEC). */
static void write_exec_narrowing(struct hip_text *t, uint32_t i, uint32_t *labels)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];

	hip_save_exec(t, HIP_SAVED_ARRIVED);
	write_instruction(t, i);
	hip_emit_hazard_wait(t);
	hip_save_exec(t, HIP_SAVED_NARROWED);
	hip_begin_stub(t);
	hip_restore_exec(t, HIP_SAVED_ARRIVED);
	hip_restore_mask(t, HIP_SAVED_NARROWED);
	hip_emit_branch_operands(t, !patch->at_loop_end);
	call_all(t, i, 0, GPUBPF_WHEN_BEFORE, labels);
	hip_restore_exec(t, HIP_SAVED_NARROWED);
	hip_end_stub(t);
}

static void write_around(struct hip_text *t, uint32_t i, uint32_t *labels)
{
	const struct hip_patch *patch = &t->draft->code->patches[i];
	bool after = has_bodies(t, i, GPUBPF_WHEN_AFTER), before = has_bodies(t, i, GPUBPF_WHEN_BEFORE);

	if (before || after)
		hip_begin_stub(t);
	/* access 0 is last, because its operands are needed again after the instruction */
	for (uint32_t access = HIP_MAX_ACCESSES; access-- > 0;)
		if (has_body(t, i, access, GPUBPF_WHEN_BEFORE)) {
			hip_emit_operands_before(t, patch, access);
			call_all(t, i, access, GPUBPF_WHEN_BEFORE, labels);
		}
	if (after && (!before || !has_body(t, i, 0, GPUBPF_WHEN_BEFORE)))
		hip_emit_operands_before(t, patch, 0);
	if (before || after)
		hip_end_stub(t);
	write_instruction(t, i);
	if (after) {
		fputs(t->spelling->wait, t->f);
		hip_begin_stub(t);
		emit_after(t, i, labels);
		hip_end_stub(t);
	}
}

static void write_place(struct hip_text *t, uint32_t i)
{
	enum hip_patch_kind kind = t->draft->code->patches[i].kind;
	bool branch = t->draft->site_body[i][0][GPUBPF_SITE_BRANCH].body;
	uint32_t labels = 0;

	fprintf(t->f, "gpubpf_place_%u:\n%s%s", i, t->spelling->wait, t->draft->code->matrix ? t->spelling->drain : "");
	if (has_function_body(t, i))
		write_function(t, i, &labels);
	if (has_named_body(t, i))
		write_named(t, i, &labels);
	if (branch && kind == HIP_PATCH_BRANCH)
		write_branch(t, i, &labels);
	else if (branch)
		write_exec_narrowing(t, i, &labels);
	else
		write_around(t, i, &labels);
	fprintf(t->f, "\ts_branch gpubpf_back_%u\n", i);
}

static bool has_probes(const struct hip_text *t, uint32_t i)
{
	return has_function_body(t, i) || has_named_body(t, i) || has_bodies(t, i, GPUBPF_WHEN_BEFORE) ||
	       has_bodies(t, i, GPUBPF_WHEN_AFTER);
}

void hip_write_place(struct hip_text *t, uint32_t i)
{
	if (t->draft->site_body && has_probes(t, i))
		write_place(t, i);
}

bool hip_write_place_branch(struct hip_text *t, uint32_t i)
{
	if (!t->draft->site_body)
		return false;
	if (has_probes(t, i))
		fprintf(t->f, "\ts_branch gpubpf_place_%u\ngpubpf_back_%u:\n", i, i);
	else if (t->draft->code->patches[i].kind == HIP_PATCH_CLAUSE)
		fputs("\ts_nop 0\n", t->f);
	else
		return false;
	return true;
}
