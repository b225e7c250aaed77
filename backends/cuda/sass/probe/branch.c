/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces lines with uniform operands that demotion (probe.c) cannot map one to one.
 *
 * Does:     replaces BRA.DIV, computed branches, and accesses at sums with uniform registers by equivalent lines.
 * Before:   sass_work_map_predicates() has mapped the predicates.
 * After:    none of these lines is left, and the targets of branches are renumbered.
 * Requires: a free predicate at each computed branch.
 */
#include "work.h"

#include <errno.h>
#include <stdlib.h>

#define DIVERGENCE_INSNS 3         /* instructions that replace a BRA.DIV */
#define SAVED_DIVERGENCE_INSNS 9   /* instructions that replace a BRA.DIV if no predicate is free */
#define SAVED_PREDICATE 0          /* the predicate that these use, and restore */
#define ALL_BOARDS 0x3f
#define TABLES 2                   /* the constant bank with the tables of computed branches */
#define MAX_ENTRIES 64
#define MAX_TABLE_INSNS 4          /* maximum distance in lines from the load of the table to the branch */

/* -- BRA.DIV -- */

/* Replaces BRA.DIV, which compares the active lanes with a mask in a uniform register, by VOTE, by ISETP under its
 * predicate, and by BRA. chosen: the free predicate. */
static void emit_divergence(const struct work *w, const struct line *from, struct line *to, uint8_t chosen)
{
	struct sass_insn differs = {
		0xc0c | SASS_PT << 12 | (uint64_t)w->mask_reg << 24 | sass_field(from->insn, 24, 6) << 32, 0x0bf05070
	};
	struct sass_insn branch = sass_bra(w->arch, 0);
	unsigned waits = sass_wait_mask(from->insn);

	differs = sass_with_field(sass_with_field(differs, 81, 3, chosen), 87, 4, sass_field(from->insn, 12, 4));
	branch = sass_with_field(branch, 12, 3, chosen);
	branch = sass_with_field(branch, SASS_STALL_AT, 4, sass_stall(from->insn));
	to[0].insn = sass_with_field(sass_vote(w->mask_reg), SASS_WAIT_AT, 6, waits);
	to[1].insn = sass_with_control(differs, 0, SASS_PREDICATE_CYCLES);
	to[2].insn = branch;
	to[0].target = to[1].target = SASS_NONE;
	to[0].table_line = to[1].table_line = to[2].table_line = SASS_NONE;
	to[2].target = from->target;
}

/* Replaces BRA.DIV where no predicate is free. NOP waits until all predicates are written, P2R saves them, and the
 * test branches. On both paths R2P restores them; then one path branches over the rest, the other to the target of
 * BRA.DIV. */
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

/* -- computed branches: BRX goes to an entry of a table in c[0x2] that LDC loads, or to one of the BRAs after it -- */

static uint32_t table_size(const struct work *w)
{
	return w->tables->data ? w->tables->size / 4 : 0;
}

uint32_t sass_work_count_targets(const struct work *w, uint32_t i)
{
	return w->lines[i].table_line != SASS_NONE ? table_size(w) : w->lines[i].nbranches;
}

uint32_t sass_work_get_target(const struct work *w, uint32_t i, uint32_t k)
{
	uint32_t at;

	if (w->lines[i].nbranches)
		return w->lines[i + 1 + k].target;
	at = sass_get32(w->tables->data + 4 * k);
	return at % SASS_INSN || at / SASS_INSN >= w->n ? SASS_NONE : at / SASS_INSN;
}

static bool writes(struct sass_insn insn, uint32_t reg)
{
	const struct sass_form *form = sass_form_find(sass_opcode(insn));
	struct sass_operand result = { 0 };

	if (form)
		result = sass_operand(form, insn, 0);
	return !form || (result.n && !result.uniform && result.reg <= reg && reg < (uint32_t)result.reg + result.n);
}

/* Returns the line that loads from the table of the BRX at line i; the index register must not change between the
 * two. SASS_NONE: none. */
static uint32_t find_table(const struct work *w, uint32_t i)
{
	uint32_t to = sass_field(w->lines[i].insn, 24, 8);

	for (uint32_t j = i; j-- && i - j <= MAX_TABLE_INSNS && !w->lines[j + 1].is_target;) {
		struct sass_insn insn = w->lines[j].insn;

		if (sass_opcode(insn) != SASS_OP_LDC || sass_field(insn, 16, 8) != to)
			continue;
		for (uint32_t k = j; k < i; k++)
			if (writes(w->lines[k].insn, sass_field(insn, 24, 8)))
				return SASS_NONE;
		return sass_constant_bank(insn) == TABLES && sass_field(insn, 12, 4) == SASS_PT ? j : SASS_NONE;
	}
	return SASS_NONE;
}

/* Returns the number of consecutive unconditional branches from line i on. */
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

/* Replaces BRX by ISETP and BRA for each target; the last target needs no comparison. chosen: the free predicate. */
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

		to[0].insn = sass_with_field(sass_isetp_imm(chosen, sass_field(read, 24, 8), step * k - off, true),
					     SASS_WAIT_AT, 6, k ? 0 : sass_wait_mask(from->insn));
		to[0].target = to[0].table_line = to[1].table_line = SASS_NONE;
		to[0].nbranches = to[!last].nbranches = 0;
		to[!last].insn = last ? branch : sass_with_field(branch, 12, 3, chosen);
		if (last && !k)
			to[0].insn = sass_with_field(branch, SASS_WAIT_AT, 6, sass_wait_mask(from->insn));
		to[!last].target = sass_work_get_target(w, i, k);
	}
}

/* -- accesses at a register plus a uniform register, or at a pair of uniform registers -- */

#define OP_STL 0x987               /* STL with a uniform register in field 64 */
#define OP_STL_REGISTER 0x387
#define OP_LDL 0x983               /* LDL with a uniform register in field 32, if bit 91 is set */
#define OP_LDG 0x981               /* this and the next three have a uniform address register if memory has no
                                    * descriptor */
#define OP_STG 0x986
#define OP_RED 0x98e
#define OP_ATOMG 0x9a8
#define SUM_TIME 8                 /* cycles until an access can read the computed address */

/* Does the instruction access global memory at an address in uniform registers? */
static bool is_global(const struct work *w, struct sass_insn insn)
{
	uint32_t opcode = sass_opcode(insn);

	return !w->arch->descriptor && sass_field(insn, 91, 1) &&
	       (opcode == OP_LDG || opcode == OP_STG || opcode == OP_RED ||
		(opcode == OP_ATOMG && sass_field(insn, 24, 8) == SASS_RZ));
}

/* An address that is only a uniform pair needs a copy too. The access reads uniform registers at issue, but per-lane
 * registers after issue, when the replacement of the pair may already have changed. */
uint32_t sass_work_count_sum_lines(const struct work *w, struct sass_insn insn)
{
	bool uniform = sass_opcode(insn) == OP_STL || (sass_opcode(insn) == OP_LDL && sass_field(insn, 91, 1));

	if (is_global(w, insn))
		return sass_field(insn, 24, 8) == SASS_RZ ? 3 : sass_field(insn, 90, 1) ? 5 : 4;
	return uniform && sass_field(insn, 24, 8) != SASS_RZ ? 2 : 0;
}

/* Returns the access with its address in sum_reg. It sets a read scoreboard, for which the next sum waits. Its waits
 * move to the lines that compute the address. */
static struct sass_insn access_at_sum(const struct work *w, struct sass_insn access, unsigned uniform)
{
	access = sass_with_field(sass_with_field(access, 24, 8, w->sum_reg), uniform, 8, 0);
	if (sass_read_board(access) == SASS_NO_SCOREBOARD)
		access = sass_with_field(access, SASS_READ_AT, 3, w->board);
	access = sass_with_field(access, SASS_WAIT_AT, 6, 0);
	return sass_with_field(sass_with_field(access, 91, 1, 0), SASS_REUSE_AT, 4, 0);
}

/* Emits IADD3 of the register and the uniform register, and the access at the sum. */
static void emit_sum(const struct work *w, const struct line *from, struct line *to)
{
	bool store = sass_opcode(from->insn) == OP_STL;
	unsigned at = store ? 64 : 32;
	struct sass_insn sum = { 0xc10 | SASS_PT << 12 | (uint64_t)w->sum_reg << 16 |
					 sass_field(from->insn, 24, 8) << 24 | sass_field(from->insn, at, 6) << 32,
				 0x0fffe0ff };
	struct sass_insn access = access_at_sum(w, from->insn, at);

	to[0].insn = sass_with_control(sum, sass_wait_mask(from->insn) | w->sum_boards, SUM_TIME);
	to[1].insn = store ? sass_with_field(access, 0, 12, OP_STL_REGISTER) : access;
}

/* Emits copies of the uniform pair, then IMAD.WIDE.U32 with factor 1, which adds a 32-bit register; for a 64-bit
 * register also IADD3, which adds its high half; and the access. */
static void emit_address(const struct work *w, const struct line *from, struct line *to)
{
	uint32_t opcode = sass_opcode(from->insn), reg = sass_field(from->insn, 24, 8),
		 n = sass_work_count_sum_lines(w, from->insn);
	unsigned at = opcode == OP_LDG ? 32 : 64;
	uint32_t uniform = sass_field(from->insn, at, 6);
	struct sass_insn wide = { 0x825 | SASS_PT << 12 | (uint64_t)w->sum_reg << 16 | (uint64_t)reg << 24 | 1ull << 32,
				  0x078e0000 | w->sum_reg };
	struct sass_insn high = { 0x210 | SASS_PT << 12 | (uint64_t)(w->sum_reg + 1) << 16 |
					  (uint64_t)(w->sum_reg + 1) << 24 | (uint64_t)(reg + 1) << 32,
				  0x07ffe0ff };
	struct sass_insn access = access_at_sum(w, from->insn, at);

	to[0].insn = sass_with_field(sass_move_uniform(w->sum_reg, uniform), SASS_WAIT_AT, 6,
				     sass_wait_mask(from->insn) | w->sum_boards);
	to[1].insn = sass_with_control(sass_move_uniform(w->sum_reg + 1, uniform + 1), 0, SUM_TIME);
	if (n > 3)
		to[2].insn = sass_with_control(wide, 0, SUM_TIME);
	if (n > 4)
		to[3].insn = sass_with_control(high, 0, SUM_TIME);
	to[n - 1].insn = opcode == OP_ATOMG ? sass_with_field(access, at, 8, SASS_RZ) : sass_with_field(access, 90, 1, 0);
	to[n - 1].insn = sass_with_field(to[n - 1].insn, 0, 12, sass_form_find(opcode)->becomes);
}

/* Emits the lines that replace the access `from`. They inherit its members, but only the first is a branch target. */
static void emit_sums(const struct work *w, const struct line *from, struct line *to)
{
	uint32_t n = sass_work_count_sum_lines(w, from->insn);

	for (uint32_t k = 0; k < n; k++) {
		to[k] = *from;
		to[k].is_target = from->is_target && !k;
	}
	if (n > 2)
		emit_address(w, from, to);
	else
		emit_sum(w, from, to);
}

/* -- entry points -- */

/* Returns the number of lines that replace line i. */
static uint32_t count_lines(const struct work *w, uint32_t i)
{
	if (sass_is_bra_div(w->lines[i].insn))
		return sass_work_free_predicate(w, i) < 0 ? SAVED_DIVERGENCE_INSNS : DIVERGENCE_INSNS;
	if (sass_work_count_sum_lines(w, w->lines[i].insn))
		return sass_work_count_sum_lines(w, w->lines[i].insn);
	return sass_work_count_targets(w, i) ? 2 * sass_work_count_targets(w, i) - 1 : 1;
}

static int emit_lines(struct work *w, uint32_t i, struct line *to)
{
	const struct line *from = &w->lines[i];
	int chosen = sass_work_free_predicate(w, i);

	*to = *from;
	if (sass_work_count_sum_lines(w, from->insn))
		emit_sums(w, from, to);
	if (sass_work_count_sum_lines(w, from->insn) || (count_lines(w, i) == 1 && !sass_work_count_targets(w, i)))
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
