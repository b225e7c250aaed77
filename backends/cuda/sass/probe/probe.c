/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include <errno.h>
#include <stdlib.h>

#include "regalloc.h"
#include "core/model/diag.h"
#include "schedule.h"

#define UNIFORM_REGS 64
#define IADD3_REST 0x07ffe0ffull   /* high bits of IADD3 without third operand and carries */
#define MOV_ALL 0xf00ull           /* high bits of MOV of all four bytes */
#define MOV_64 0x10f00ull
#define SUM_64_REST 0x078e0200ull  /* high bits of IADD.64 without signs and carries */
#define NOINC_AT 86                /* bit .NOINC of CALL.REL */
#define CONTROL_BITS (~((1ull << 41) - 1))

/* -- reading -- */

static bool is_branch_to_itself(const struct sass_arch *arch, struct sass_insn insn)
{
	return sass_opcode(insn) == SASS_OP_BRA && sass_branch(arch, insn) == -SASS_INSN && sass_is_unconditional(insn);
}

/* Returns the number of instructions without the branch to itself and the padding with which compilers end a
 * section. */
static uint32_t code_length(const struct sass_arch *arch, const uint8_t *bytes, uint32_t n)
{
	while (n && sass_opcode(sass_read(bytes + (n - 1) * SASS_INSN)) == SASS_OP_NOP)
		n--;
	return n && is_branch_to_itself(arch, sass_read(bytes + (n - 1) * SASS_INSN)) ? n - 1 : n;
}

/* Turns CALL.REL.NOINC into BRA. It stores no return address, so only a RET could make it a call, and probes may not
 * have RET. */
static struct sass_insn to_branch(struct sass_insn insn)
{
	if (sass_opcode(insn) != SASS_OP_CALL_REL || !sass_field(insn, NOINC_AT, 1))
		return insn;
	return sass_with_field(sass_with_field(insn, 0, 12, SASS_OP_BRA), NOINC_AT, 1, 0);
}

static int find_target(struct work *w, uint32_t i)
{
	struct line *line = &w->lines[i];
	int64_t at;

	if (!sass_has_target(line->insn))
		return 0;
	if (sass_opcode(line->insn) == SASS_OP_BRA) /* clears .U: lanes that run alone do not all branch the same way */
		line->insn = sass_with_field(line->insn, SASS_UNIFORM_AT, 1, 0);
	at = (int64_t)(i + 1) * SASS_INSN + sass_branch(w->arch, line->insn);
	if (at < 0 || at % SASS_INSN || at / SASS_INSN >= w->n)
		return sass_work_refuse(w, "branches out of its code");
	line->target = at / SASS_INSN;
	w->lines[line->target].is_target = true;
	return 0;
}

static int open_lines(struct work *w, const struct sass_section *text)
{
	int err = 0;

	w->n = code_length(w->arch, text->data, text->size / SASS_INSN);
	w->begin = sass_preamble(w->arch, text->data, w->n);
	w->lines = calloc(w->n + 1, sizeof(*w->lines));
	if (!w->lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->n; i++)
		w->lines[i] = (struct line){ .insn = to_branch(sass_read(text->data + i * SASS_INSN)),
					     .target = SASS_NONE,
					     .table_line = SASS_NONE,
					     .to_drop = i < w->begin };
	for (uint32_t i = w->begin; !err && i < w->n; i++)
		err = find_target(w, i);
	for (uint32_t i = 0; !err && i < w->n; i++)
		if (sass_opcode(w->lines[i].insn) == SASS_OP_BRX)
			err = sass_work_mark_jump(w, i);
	for (uint32_t i = 0; !err && i < w->n; i++)
		if (sass_opcode(w->lines[i].insn) == SASS_OP_REDUX || sass_opcode(w->lines[i].insn) == SASS_OP_R2UR)
			err = sass_work_split_mask(w, i);
	return err;
}

/* Probes may read constants of bank 0, which launches fill, and of bank 3, where the agent stores words. */
static int check_line(struct work *w, uint32_t i)
{
	struct sass_insn insn = w->lines[i].insn;
	int bank = sass_constant_bank(insn);

	if (sass_is_bra_div(insn) || sass_work_count_targets(w, i) || w->lines[i].to_drop)
		return 0;
	if (!sass_is_probe_insn(w->arch, insn))
		return sass_work_refuse(w, "has an instruction that probes do not support: %s (0x%03x)",
					sass_op_find(sass_opcode(insn))->name ? sass_op_find(sass_opcode(insn))->name : "?",
					sass_opcode(insn));
	if (bank > 0 && bank != 3)
		return sass_work_refuse(w, "reads constant bank %d", bank);
	return 0;
}

/* -- resources -- */

static int scan_usage(struct work *w)
{
	uint32_t top = 0, low = UNIFORM_REGS;
	unsigned boards = 0;
	int err = 0;

	for (uint32_t i = w->begin; !err && i < w->n; i++) {
		const struct sass_form *form = sass_form_find(sass_opcode(w->lines[i].insn));
		struct sass_insn insn = w->lines[i].insn;

		err = check_line(w, i);
		if (err < 0)
			return err;
		if (!form) /* BRX has no form; another line writes its register */
			continue;
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = sass_operand(form, insn, o);

			if (x.n && x.uniform && x.reg < low)
				low = x.reg;
			if (x.n && !x.uniform && x.reg + x.n > (int)top)
				top = x.reg + x.n;
		}
		if (sass_is_bra_div(insn)) {
			w->divergences++;
			if (sass_field(insn, 24, 6) < low)
				low = sass_field(insn, 24, 6);
		}
		boards |= 1u << sass_write_board(insn) | 1u << sass_read_board(insn);
		w->sums += sass_work_count_sum_lines(w, insn) > 0;
		w->sum_boards |= sass_work_count_sum_lines(w, insn) ? sass_boards_set(insn) : 0;
	}
	w->mask_reg = top;
	w->saved_reg = top + 1;
	top += w->divergences ? 2 : 0;
	top = w->sums ? (top + 1) & ~1u : top;
	w->sum_reg = top;
	top += w->sums ? 2 : 0;
	w->first_uniform = low & ~3u;
	w->uniform_reg = (top + 3) & ~3u;
	w->board = SASS_SCOREBOARDS - 1;
	while (w->board && boards >> w->board & 1)
		w->board--;
	if (boards >> w->board & 1)
		w->board = SASS_SCOREBOARDS - 1;
	w->sum_boards |= 1u << w->board;
	return sass_work_map_predicates(w);
}

/* -- demotion of uniform operations -- */

static uint8_t map_register(const struct work *w, uint64_t uniform)
{
	uniform &= UNIFORM_REGS - 1;
	return uniform == SASS_URZ ? SASS_RZ : w->uniform_reg + uniform - w->first_uniform;
}

static struct sass_insn map_fields(const struct work *w, const struct sass_form *form, struct sass_insn insn)
{
	for (unsigned i = 0; i < SASS_OPERANDS; i++)
		if (sass_is_uniform_kind(form->operands[i]))
			insn = sass_with_field(insn, sass_operand_at[i], 8,
					       map_register(w, sass_field(insn, sass_operand_at[i], 6)));
	return insn;
}

static struct sass_insn map_predicates(const struct work *w, const struct sass_form *form, struct sass_insn insn)
{
	for (unsigned f = 0; f < SASS_PREDICATE_FIELDS; f++) {
		unsigned at = sass_predicate_at[f];

		if (!sass_predicate_is_uniform(form, insn, f))
			continue;
		insn = sass_with_field(insn, at, 3, w->predicate[sass_field(insn, at, 3)]);
		if (form->predicates[f] == 'e')
			insn = sass_with_field(insn, 67, 1, 0);
	}
	return insn;
}

static struct sass_insn with_rest(struct sass_insn insn, uint64_t rest)
{
	return (struct sass_insn){ insn.lo, (insn.hi & CONTROL_BITS) | rest };
}

/* Removes the memory descriptor that UR holds from sm_80 on. Before sm_80 UR holds an address, which emit_address()
 * of branch.c replaces. In ATOMG bit 90 belongs to the operation. */
static int drop_descriptor(struct work *w, struct line *line)
{
	struct sass_insn i = line->insn;
	uint32_t opcode = sass_opcode(i);
	unsigned at = opcode == 0x981 ? 32 : 64;

	if (!w->arch->descriptor)
		return sass_work_refuse(w, "has an address in an unknown form");
	i = opcode == 0x9a8 ? sass_with_field(i, 91, 1, 0) : sass_with_field(sass_with_field(i, 90, 2, 0), 76, 1, 0);
	line->insn = sass_with_field(i, at, 8, opcode == 0x9a8 ? SASS_RZ : 0);
	return 0;
}

/* Swaps the fields of B and C. Refuses an operand with a sign, because the sign bits of B and C are at different
 * positions. */
static int swap_operands(struct work *w, struct line *line)
{
	uint64_t b = sass_field(line->insn, 64, 8), c = sass_field(line->insn, 32, 8);

	if (sass_field(line->insn, 40, 24) || sass_field(line->insn, 72, 1) || sass_field(line->insn, 75, 1))
		return sass_work_refuse(w, "has a sign on an operand, which is not supported");
	line->insn = sass_with_field(sass_with_field(line->insn, 32, 8, b), 64, 8, c);
	return 0;
}

static int demote_form(struct work *w, struct line *line, const struct sass_form *form)
{
	struct sass_insn *i = &line->insn;
	unsigned at;

	switch (form->how) {
	case SASS_DEMOTE_AS:
		break;
	case SASS_DEMOTE_MOV:
		*i = with_rest(*i, sass_is_wide(*i) ? MOV_64 : MOV_ALL);
		break;
	case SASS_DEMOTE_FROM_A:
		if (sass_field(*i, 81, 3) != SASS_PT) /* R2UR P0, URZ, R3 tests whether the lanes' values differ */
			return sass_work_refuse(w, "writes a predicate in R2UR, which is not supported");
		*i = with_rest(sass_with_field(sass_with_field(*i, 32, 8, sass_field(*i, 24, 8)), 24, 8, 0), MOV_ALL);
		*i = sass_with_field(sass_with_field(*i, SASS_WRITE_AT, 3, SASS_NO_SCOREBOARD), SASS_READ_AT, 3,
				     SASS_NO_SCOREBOARD);
		break;
	case SASS_DEMOTE_SWAP:
		return swap_operands(w, line);
	case SASS_DEMOTE_CONSTANT:
		if (sass_opcode(*i) == 0x7ac && sass_field(*i, 24, 8) != SASS_RZ)
			return sass_work_refuse(w, "reads a constant by an index, which is not supported");
		if (sass_constant_offset(*i) > UINT16_MAX)
			return sass_work_refuse(w, "reads a constant beyond the first 64 KiB");
		*i = sass_with_field(sass_with_field(*i, 37, 17, sass_constant_offset(*i) << 1), 24, 8, SASS_RZ);
		break;
	case SASS_DEMOTE_MEMORY:
		return drop_descriptor(w, line);
	case SASS_DEMOTE_LOCAL:
		if (sass_field(*i, 24, 8) != SASS_RZ)
			return sass_work_refuse(w, "has an address that adds a uniform register");
		at = form->operands[2] == 'y' ? 32 : 64;
		*i = sass_with_field(sass_with_field(*i, 24, 8, sass_field(*i, at, 8)), at, 8, 0);
		break;
	case SASS_DEMOTE_SUM_64:
		*i = with_rest(*i, SUM_64_REST);
		break;
	case SASS_DEMOTE_VIADD:
		*i = with_rest(*i, IADD3_REST);
		break;
	case SASS_DEMOTE_BRANCH:
		if (sass_field(*i, 87, 4) != SASS_PT)
			return sass_work_refuse(w, "branches by two predicates and a uniform one");
		*i = sass_with_field(*i, 87, 4, sass_field(*i, 24, 4));
		*i = sass_with_field(*i, 24, 10, 0);
		break;
	}
	return 0;
}

static bool loads_descriptor(const struct work *w, const struct sass_form *form, struct sass_insn insn)
{
	return form->how == SASS_DEMOTE_CONSTANT && form->becomes && w->arch->descriptor && !sass_field(insn, 54, 5) &&
	       sass_constant_offset(insn) == w->arch->descriptor;
}

static int demote(struct work *w, struct line *line)
{
	const struct sass_form *form = sass_form_find(sass_opcode(line->insn));
	int err;

	if (form)
		line->insn = map_predicates(w, form, line->insn);
	if (!sass_is_uniform(line->insn))
		return 0;
	line->demoted = form->how != SASS_DEMOTE_MEMORY;
	line->changed_unit = form->how == SASS_DEMOTE_VIADD || form->how == SASS_DEMOTE_FROM_A;
	line->to_drop |= loads_descriptor(w, form, line->insn);
	if (strchr("vVwn", form->operands[0]) && form->predicates[SASS_P_GUARD] != 'u' &&
	    form->how != SASS_DEMOTE_FROM_A && sass_field(line->insn, 12, 4) != SASS_PT)
		return sass_work_refuse(w, "sets a uniform register under a predicate");
	if (form->how != SASS_DEMOTE_MEMORY)
		line->insn = map_fields(w, form, line->insn);
	err = demote_form(w, line, form);
	line->insn = sass_with_field(line->insn, 0, 12, form->becomes);
	if (form->how != SASS_DEMOTE_MEMORY)
		line->insn = sass_with_field(sass_with_field(line->insn, 91, 1, 0), SASS_REUSE_AT, 4, 0);
	return err;
}

/* -- output -- */

/* Drops the first instruction, which loads the stack pointer, if the probe has no stack and nothing uses R1. */
static void drop_stack_pointer(struct work *w, uint32_t frame)
{
	struct sass_operand one = { .reg = 1, .n = 1 };
	struct line *first = &w->lines[w->begin];

	if (frame || w->begin == w->n || first->is_target || sass_field(first->insn, 16, 8) != 1 ||
	    sass_op_find(sass_opcode(first->insn))->class == SASS_EXIT)
		return;
	for (uint32_t i = w->begin + 1; i < w->n; i++)
		if (sass_work_touches(w->lines[i].insn, &one))
			return;
	sass_work_drop(w, w->begin);
}

static void update_usage(struct sass_probe *p, struct sass_insn insn)
{
	const struct sass_form *form = sass_form_find(sass_opcode(insn));
	uint32_t opcode = sass_opcode(insn);
	unsigned barrier = sass_barrier_at(insn);

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = sass_operand(form, insn, o);

		if (x.n && (uint32_t)x.reg + x.n > p->regs)
			p->regs = x.reg + x.n;
	}
	if (barrier && sass_field(insn, barrier, 4) >= p->barriers)
		p->barriers = sass_field(insn, barrier, 4) + 1;
	p->predicates |= sass_predicates_written(insn) != 0;
	p->diverges |= opcode == SASS_OP_BRA || opcode == SASS_OP_BSSY ||
		       (opcode == SASS_OP_EXIT && !sass_is_unconditional(insn));
}

void sass_probe_update_usage(struct sass_probe *p)
{
	*p = (struct sass_probe){ .insns = p->insns, .n = p->n, .frame = p->frame };
	for (uint32_t i = 0; i < p->n; i++)
		update_usage(p, p->insns[i]);
}

static int emit_probe(struct work *w, struct sass_probe *p)
{
	uint32_t *index = calloc(w->n + 1, sizeof(*index));

	p->insns = calloc(w->n + 1, sizeof(*p->insns));
	if (!index || !p->insns) {
		free(index);
		return -ENOMEM;
	}
	for (uint32_t i = 0, n = 0; i <= w->n; i++) {
		index[i] = n;
		n += i < w->n && !w->lines[i].dropped;
	}
	for (uint32_t i = 0; i < w->n; i++) {
		struct line *line = &w->lines[i];

		if (line->dropped)
			continue;
		if (line->target != SASS_NONE)
			line->insn = sass_with_branch(w->arch, line->insn,
						      ((int64_t)index[line->target] - p->n - 1) * SASS_INSN);
		p->insns[p->n++] = line->insn;
	}
	free(index);
	return 0;
}

static int legalize_probe(struct work *w, const struct sass_cubin *c, const struct sass_kernel *k, struct sass_probe *p)
{
	int err = open_lines(w, &c->sections[k->text]);

	if (!err)
		err = scan_usage(w);
	if (!err && w->divergences + w->jumps + w->sums)
		err = sass_work_expand_lines(w);
	for (uint32_t i = w->begin; !err && i < w->n; i++)
		err = demote(w, &w->lines[i]);
	if (err < 0)
		return err;
	drop_stack_pointer(w, k->frame);
	for (uint32_t i = 0; i < w->n; i++)
		if (w->lines[i].to_drop)
			sass_work_drop(w, i);
	for (uint32_t i = 0; i < w->n; i++)
		if (w->lines[i].demoted && !w->lines[i].dropped)
			sass_work_update_latency(w, i);
	err = emit_probe(w, p);
	if (err < 0)
		return err;
	sass_probe_update_usage(p);
	err = sass_schedule(w->arch, p);
	sass_probe_update_usage(p);
	if (!err)
		err = sass_alloc_registers(w->arch, p, k->frame);
	sass_probe_update_usage(p);
	p->frame = k->frame;
	return err;
}

int sass_probe_read(const struct sass_cubin *probes, const char *name, struct sass_probe *probe, struct gpubpf_diag *diag)
{
	const struct sass_kernel *k = sass_kernel_find(probes, name);
	struct work w = { .arch = sass_arch_find(probes->sm), .diag = diag };
	int err;

	*probe = (struct sass_probe){ 0 };
	if (!k || !w.arch || !probes->sections[k->text].data)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the assembler made no %s", name);
	if (sass_relocations_of(probes, k->text))
		return sass_work_refuse(&w, "calls functions of the assembler, as warp-wide operations do before "
					    "sm_90");
	w.tables = &probes->sections[sass_section_of(probes, ".nv.constant2.", k->text)]; /* 0, which has no data, if
	                                                                                   * there is no such section */
	err = legalize_probe(&w, probes, k, probe);
	free(w.lines);
	free(w.live);
	if (err < 0)
		sass_probe_finish(probe);
	return err;
}

void sass_probe_finish(struct sass_probe *probe)
{
	free(probe->insns);
	*probe = (struct sass_probe){ 0 };
}
