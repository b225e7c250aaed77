/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces lines with uniform operands that demotion (probe.c) cannot replace by a single line. A line is an
 * instruction of the probe.
 *
 * Does:     replaces BRA.DIV, computed branches, and accesses whose address contains uniform registers, by equivalent
 *           lines.
 * Before:   sass_work_map_predicates() has mapped the predicates.
 * After:    none of these lines is left, and the targets of branches are renumbered.
 * Requires: a free predicate at each computed branch.
 */
#include "work.h"

#include <errno.h>
#include <stdlib.h>

#define DIVERGENCE_INSNS 3         /* number of instructions that replace a BRA.DIV */
#define SAVED_DIVERGENCE_INSNS 9   /* number of instructions that replace a BRA.DIV if no predicate is free */
#define SAVED_PREDICATE 0          /* the predicate that these instructions use and restore */
#define ALL_BOARDS 0x3f
#define TABLES 2                   /* the constant bank with the tables of computed branches */
#define MAX_ENTRIES 64
#define MAX_TABLE_INSNS 4          /* maximum distance in lines from the load of the table to the branch */

/* -- BRA.DIV -- */

/* Replaces a BRA.DIV, which compares the active lanes with a mask in a uniform register. The replacement is VOTE,
 * ISETP under the predicate of the BRA.DIV, and BRA. `chosen` is the free predicate. */
static void emit_divergence(const struct work *w, const struct line *from, struct line *to, uint8_t chosen)
{
	struct sass_insn branch = sass_under(sass_bra(w->arch, 0), chosen);
	unsigned waits = sass_wait_mask(from->insn);

	to[0].insn = sass_with_waits(sass_vote(w->mask_reg), waits);
	to[1].insn = sass_compare_for_div(from->insn, chosen, w->mask_reg);
	to[2].insn = sass_with_stall(branch, sass_stall(from->insn));
	to[0].target = to[1].target = SASS_NONE;
	to[0].table_line = to[1].table_line = to[2].table_line = SASS_NONE;
	to[2].target = from->target;
}

/* Replaces BRA.DIV where no predicate is free. A NOP waits until all predicates are written, and P2R saves them. Then
 * VOTE, ISETP and BRA test for divergence, and R2P restores the predicates on both paths of that BRA. One path then
 * skips the other, which branches to the target of the BRA.DIV. */
static void emit_saved_divergence(const struct work *w, const struct line *from, struct line *to)
{
	static const uint32_t over = 2;

	for (uint32_t k = 0; k < SAVED_DIVERGENCE_INSNS; k++)
		to[k].target = to[k].table_line = SASS_NONE;
	emit_divergence(w, from, to + 2, SAVED_PREDICATE);
	to[0].insn = sass_nop(ALL_BOARDS, SASS_PREDICATE_CYCLES);
	to[1].insn = sass_save_predicates(w->saved_reg);
	to[4].target = SASS_NONE;
	to[4].nskipped = over;
	to[5].insn = to[7].insn = sass_restore_predicates(w->saved_reg);
	to[6].insn = to[8].insn = sass_bra(w->arch, 0);
	to[6].nskipped = over;
	to[8].target = from->target;
}

/* -- computed branches. An LDC loads the target of a BRX from a table in c[0x2], or the BRX goes to one of the BRAs
 * that follow it. -- */

static uint32_t count_table_entries(const struct work *w)
{
	return w->tables->data ? w->tables->size / 4 : 0;
}

uint32_t sass_work_count_targets(const struct work *w, uint32_t i)
{
	return w->lines[i].table_line != SASS_NONE ? count_table_entries(w) : w->lines[i].nbranches;
}

uint32_t sass_work_get_target(const struct work *w, uint32_t i, uint32_t k)
{
	uint32_t at;

	if (w->lines[i].nbranches)
		return w->lines[i + 1 + k].target;
	at = sass_get32(w->tables->data + 4 * k);
	return at % SASS_INSN || at / SASS_INSN >= w->n ? SASS_NONE : at / SASS_INSN;
}

/* May the instruction write the register? An instruction without a form counts as writing it. */
static bool may_write(struct sass_insn insn, uint32_t reg)
{
	struct sass_operand x = sass_register(reg, false);

	return !sass_form(insn) || sass_uses(insn, &x, SASS_WRITES);
}

/* Returns the line of the LDC that loads the target of the BRX at line i from a table; SASS_NONE: there is none. The
 * index register must not change between the two lines. */
static uint32_t find_table(const struct work *w, uint32_t i)
{
	uint32_t to = w->lines[i].insn.operand[1].reg;

	for (uint32_t j = i; j-- && i - j <= MAX_TABLE_INSNS && !w->lines[j + 1].is_target;) {
		struct sass_insn insn = w->lines[j].insn;

		if (sass_opcode(insn) != SASS_OP_LDC || insn.operand[0].reg != to)
			continue;
		for (uint32_t k = j; k < i; k++)
			if (may_write(w->lines[k].insn, insn.operand[1].reg))
				return SASS_NONE;
		return sass_constant_bank(insn) == TABLES && insn.guard == SASS_PT ? j : SASS_NONE;
	}
	return SASS_NONE;
}

/* Returns the number of consecutive unconditional branches that start at line i. */
static uint32_t count_branches(const struct work *w, uint32_t i)
{
	uint32_t n = 0;

	while (i + n < w->n && n <= MAX_ENTRIES && sass_opcode(w->lines[i + n].insn) == SASS_OP_BRA &&
	       sass_is_probe_insn(w->arch, w->lines[i + n].insn) && sass_is_unconditional(w->lines[i + n].insn))
		n++;
	return n;
}

int sass_work_mark_jump(struct work *w, uint32_t i)
{
	struct line *line = &w->lines[i];
	int64_t off = sass_branch(w->arch, line->insn);

	if (off == -(int64_t)(i + 1) * SASS_INSN) { /* table entries are offsets from the start of the code */
		line->table_line = find_table(w, i);
		if (line->table_line != SASS_NONE)
			w->lines[line->table_line].to_drop = true;
	} else if (!off) {
		line->nbranches = count_branches(w, i + 1);
	}
	if (!sass_is_unconditional(line->insn) || !sass_work_count_targets(w, i) ||
	    sass_work_count_targets(w, i) > MAX_ENTRIES)
		return sass_work_refuse(w, "has an indirect branch without a known table");
	for (uint32_t k = 0; k < sass_work_count_targets(w, i); k++) {
		if (sass_work_get_target(w, i, k) == SASS_NONE)
			return sass_work_refuse(w, "has a branch table with a target outside of it");
		w->lines[sass_work_get_target(w, i, k)].is_target = true;
	}
	w->jumps++;
	return 0;
}

/* -- the control-flow graph -- */

/* Is the BSYNC of this BSSY just before the target of the BSSY? Then the BSYNC falls through to the target, and the
 * BSSY needs no edge. */
static bool falls_through_to_target(const struct work *w, const struct line *bssy)
{
	uint32_t to = bssy->target;

	return bssy->insn.opcode == SASS_OP_BSSY && to && w->lines[to - 1].insn.opcode == SASS_OP_BSYNC &&
	       sass_convergence_barrier(w->lines[to - 1].insn) == sass_convergence_barrier(bssy->insn);
}

int sass_work_build_cfg(struct work *w)
{
	sass_cfg_begin(&w->cfg, w->n);
	for (uint32_t i = 0; i < w->n; i++) {
		const struct line *line = &w->lines[i];
		uint32_t n = sass_work_count_targets(w, i);

		if (line->target != SASS_NONE && !falls_through_to_target(w, line))
			sass_cfg_add_edge(&w->cfg, i, line->target);
		for (uint32_t k = 0; k < n; k++)
			sass_cfg_add_edge(&w->cfg, i, sass_work_get_target(w, i, k));
		if (n || sass_ends_path(line->insn))
			sass_cfg_end_path(&w->cfg, i);
	}
	return sass_cfg_build(&w->cfg);
}

/* Replaces a BRX by an ISETP and a BRA for each target. The last target needs no comparison. `chosen` is the free
 * predicate. */
static void emit_jump(const struct work *w, uint32_t i, struct line *to, uint8_t chosen)
{
	const struct line *from = &w->lines[i];
	struct sass_insn read = from->nbranches ? from->insn : w->lines[from->table_line].insn;
	uint32_t off = from->nbranches ? 0 : (uint32_t)(int16_t)sass_constant_offset(read),
		 step = from->nbranches ? SASS_INSN : 4;
	uint32_t n = sass_work_count_targets(w, i);

	for (uint32_t k = 0; k < n; k++, to += 2) {
		struct sass_insn branch = sass_bra(w->arch, 0);
		bool last = k + 1 == n;

		to[0].insn = sass_with_waits(sass_isetp_imm(chosen, read.operand[1].reg, step * k - off, true),
					     k ? 0 : sass_wait_mask(from->insn));
		to[0].target = to[0].table_line = to[1].table_line = SASS_NONE;
		to[0].nbranches = to[!last].nbranches = 0;
		to[!last].insn = last ? branch : sass_under(branch, chosen);
		if (last && !k)
			to[0].insn = sass_with_waits(branch, sass_wait_mask(from->insn));
		to[!last].target = sass_work_get_target(w, i, k);
	}
}

/* -- accesses whose address contains uniform registers -- */

struct sass_lane_registers sass_work_lane_registers(const struct work *w)
{
	return (struct sass_lane_registers){
		.first_uniform = w->first_uniform,
		.reg = w->uniform_reg,
		.predicate = w->predicate,
		.sum = w->sum_reg,
		.sum_boards = w->sum_boards,
		.board = w->board,
	};
}

/* Emits the lines that replace the access `from`. Each line copies the members of `from`, but only the first line can
 * be a branch target. */
static void emit_sums(const struct work *w, const struct line *from, struct line *to)
{
	const struct sass_lane_registers registers = sass_work_lane_registers(w);
	uint32_t n = sass_count_sum_insns(w->arch, from->insn);
	struct sass_insn insns[SASS_SUM_MAX_INSNS];

	sass_emit_sum(w->arch, &registers, from->insn, insns);
	for (uint32_t k = 0; k < n; k++) {
		to[k] = *from;
		to[k].insn = insns[k];
		to[k].is_target = from->is_target && !k;
	}
}

/* -- entry points -- */

/* Returns the number of lines that replace line i. */
static uint32_t count_lines(const struct work *w, uint32_t i)
{
	if (sass_is_bra_div(w->lines[i].insn))
		return sass_work_free_predicate(w, i) < 0 ? SAVED_DIVERGENCE_INSNS : DIVERGENCE_INSNS;
	if (sass_count_sum_insns(w->arch, w->lines[i].insn))
		return sass_count_sum_insns(w->arch, w->lines[i].insn);
	return sass_work_count_targets(w, i) ? 2 * sass_work_count_targets(w, i) - 1 : 1;
}

static int emit_lines(struct work *w, uint32_t i, struct line *to)
{
	const struct line *from = &w->lines[i];
	int chosen = sass_work_free_predicate(w, i);

	*to = *from;
	if (sass_count_sum_insns(w->arch, from->insn))
		emit_sums(w, from, to);
	if (sass_count_sum_insns(w->arch, from->insn) || (count_lines(w, i) == 1 && !sass_work_count_targets(w, i)))
		return 0;
	if (chosen < 0 && !sass_is_bra_div(from->insn))
		return sass_work_refuse(w, "needs more predicates than there are");
	if (chosen < 0)
		emit_saved_divergence(w, from, to);
	else if (sass_is_bra_div(from->insn))
		emit_divergence(w, from, to, chosen);
	else
		emit_jump(w, i, to, chosen);
	return 0;
}

int sass_work_expand_lines(struct work *w)
{
	uint32_t *index = calloc(w->n + 1, sizeof(*index)), n = 0, at = 0;
	struct line *lines;
	int err;

	for (uint32_t i = 0; i < w->n; i++)
		n += count_lines(w, i);
	lines = calloc(n + 1, sizeof(*lines));
	err = index && lines ? 0 : -ENOMEM;
	for (uint32_t i = 0; !err && i < w->n; i++) {
		index[i] = at;
		err = emit_lines(w, i, &lines[at]);
		at += count_lines(w, i);
	}
	for (uint32_t i = 0; !err && i < at; i++) {
		if (lines[i].target != SASS_NONE)
			lines[i].target = index[lines[i].target];
		if (lines[i].nskipped)
			lines[i].target = i + 1 + lines[i].nskipped;
		if (lines[i].nskipped)
			lines[lines[i].target].is_target = true;
	}
	free(index);
	if (err < 0) {
		free(lines);
		return err;
	}
	free(w->lines);
	w->lines = lines;
	w->n = at;
	return 0;
}
