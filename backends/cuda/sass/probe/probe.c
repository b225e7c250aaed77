/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include <errno.h>
#include <stdlib.h>

#include "backends/cuda/sass/analysis/dump.h"
#include "regalloc.h"
#include "core/model/diag.h"
#include "schedule.h"

#define UNIFORM_REGS 64

/* -- reading -- */

static bool is_branch_to_itself(const struct sass_arch *arch, struct sass_insn insn)
{
	return sass_opcode(insn) == SASS_OP_BRA && sass_branch(arch, insn) == -SASS_INSN && sass_is_unconditional(insn);
}

/* Returns the number of instructions, without the branch to itself and the padding that compilers put at the end of the
 * section. */
static uint32_t code_length(const struct sass_arch *arch, const uint8_t *bytes, uint32_t n)
{
	while (n && sass_opcode(sass_read(bytes + (n - 1) * SASS_INSN)) == SASS_OP_NOP)
		n--;
	return n && is_branch_to_itself(arch, sass_read(bytes + (n - 1) * SASS_INSN)) ? n - 1 : n;
}

static int find_target(struct work *w, uint32_t i)
{
	struct line *line = &w->lines[i];
	int64_t at;

	if (!sass_has_target(line->insn))
		return 0;
	if (sass_opcode(line->insn) == SASS_OP_BRA) /* clears .U (all lanes branch the same way), which is false for
	                                             * lanes that run alone */
		line->insn = sass_with_reg(line->insn, 2, line->insn.operand[2].reg & ~SASS_ALL_LANES);
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
		w->lines[i] = (struct line){ .insn = sass_call_to_branch(sass_read(text->data + i * SASS_INSN)),
					     .target = SASS_NONE,
					     .table_line = SASS_NONE,
					     .to_drop = i < w->begin };
	for (uint32_t i = w->begin; !err && i < w->n; i++)
		err = find_target(w, i);
	for (uint32_t i = 0; !err && i < w->n; i++)
		if (sass_opcode(w->lines[i].insn) == SASS_OP_BRX)
			err = sass_work_mark_jump(w, i);
	if (!err)
		err = sass_work_build_cfg(w);
	for (uint32_t i = 0; !err && i < w->n; i++)
		if (sass_opcode(w->lines[i].insn) == SASS_OP_REDUX || sass_opcode(w->lines[i].insn) == SASS_OP_R2UR)
			err = sass_work_split_mask(w, i);
	return err;
}

/* Checks that probes may contain the line. A probe may read constants of bank 0, which launches fill, and of bank 3,
 * where the agent stores words. */
static int check_line(struct work *w, uint32_t i)
{
	struct sass_insn insn = w->lines[i].insn;
	int bank = sass_constant_bank(insn);

	if (sass_is_bra_div(insn) || sass_work_count_targets(w, i) || w->lines[i].to_drop)
		return 0;
	if (!sass_is_probe_insn(w->arch, insn))
		return sass_work_refuse(w, "has an instruction that probes do not support: %s (0x%03x)",
					sass_op(insn)->name ? sass_op(insn)->name : "?", sass_opcode(insn));
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
		struct sass_insn insn = w->lines[i].insn;

		err = check_line(w, i);
		if (err < 0)
			return err;
		if (!sass_form(insn)) /* BRX has no form, but the line that writes its register has one */
			continue;
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = insn.operand[o];

			if (x.n && x.uniform && x.reg < low)
				low = x.reg;
			if (x.n && !x.uniform && x.reg + x.n > (int)top)
				top = x.reg + x.n;
		}
		if (sass_is_bra_div(insn)) {
			w->divergences++;
			if ((insn.operand[1].reg & SASS_URZ) < low)
				low = (insn.operand[1].reg & SASS_URZ);
		}
		boards |= 1u << sass_write_board(insn) | 1u << sass_read_board(insn);
		w->sums += sass_count_sum_insns(w->arch, insn) > 0;
		w->sum_boards |= sass_count_sum_insns(w->arch, insn) ? sass_boards_set(insn) : 0;
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

static int demote(struct work *w, struct line *line)
{
	const struct sass_lane_registers to = sass_work_lane_registers(w);
	const struct sass_form *form = sass_form(line->insn);
	const char *why;

	if (sass_is_uniform(line->insn)) {
		line->demoted = form->how != SASS_DEMOTE_MEMORY;
		line->changed_unit = form->how == SASS_DEMOTE_VIADD || form->how == SASS_DEMOTE_FROM_A;
		line->to_drop |= sass_loads_descriptor(w->arch, line->insn);
	}
	why = sass_demote(w->arch, &to, &line->insn);
	return why ? sass_work_refuse(w, "%s", why) : 0;
}

/* -- output -- */

/* Drops the first instruction, which loads the stack pointer into R1, if the probe has no stack and nothing uses R1. */
static void drop_stack_pointer(struct work *w, uint32_t frame)
{
	struct sass_operand one = sass_register(1, false);
	struct line *first = &w->lines[w->begin];

	if (frame || w->begin == w->n || first->is_target || first->insn.operand[0].reg != 1 ||
	    sass_op(first->insn)->class == SASS_EXIT)
		return;
	for (uint32_t i = w->begin + 1; i < w->n; i++)
		if (sass_uses(w->lines[i].insn, &one, SASS_USES))
			return;
	sass_work_drop(w, w->begin);
}

static void update_usage(struct sass_probe *p, struct sass_insn insn)
{
	uint32_t opcode = sass_opcode(insn);
	int barrier = sass_convergence_barrier(insn);

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = insn.operand[o];

		if (x.n && (uint32_t)x.reg + x.n > p->regs)
			p->regs = x.reg + x.n;
	}
	if (barrier >= (int)p->barriers)
		p->barriers = barrier + 1;
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

static void dump_probe(const struct work *w, const char *pass, const struct sass_probe *p)
{
	sass_dump_insns(w->job, pass, w->name, w->arch, (struct sass_insns){ p->insns, sizeof(*p->insns) }, p->n);
}

/* Orders the instructions, then reduces the registers. */
static int optimize_probe(struct work *w, const struct sass_kernel *k, struct sass_probe *p)
{
	int err;

	dump_probe(w, "demote", p);
	sass_probe_update_usage(p);
	err = sass_schedule(w->arch, p);
	dump_probe(w, "schedule", p);
	sass_probe_update_usage(p);
	if (!err)
		err = sass_alloc_registers(w->arch, p, k->frame);
	dump_probe(w, "allocate", p);
	sass_probe_update_usage(p);
	p->frame = k->frame;
	return err;
}

static int legalize_probe(struct work *w, const struct sass_cubin *c, const struct sass_kernel *k, struct sass_probe *p)
{
	int err = open_lines(w, &c->sections[k->text]);

	if (!err)
		err = scan_usage(w);
	if (!err && w->divergences + w->jumps + w->sums)
		err = sass_work_expand_lines(w);
	sass_dump_insns(w->job, "expand", w->name, NULL, (struct sass_insns){ &w->lines->insn, sizeof(*w->lines) },
			err ? 0 : w->n);
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
	return err < 0 ? err : optimize_probe(w, k, p);
}

int sass_probe_read(const struct sass_cubin *probes, const char *name, const struct gpubpf_lower_job *job,
		    struct sass_probe *probe, struct gpubpf_diag *diag)
{
	const struct sass_kernel *k = sass_kernel_find(probes, name);
	struct work w = { .arch = sass_arch_find(probes->sm), .name = name, .job = job, .diag = diag };
	int err;

	*probe = (struct sass_probe){ 0 };
	if (!k || !w.arch || !probes->sections[k->text].data)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the assembler's output has no function %s",
				       name);
	if (sass_relocations_of(probes, k->text))
		return sass_work_refuse(&w, "calls functions of the assembler, as warp-wide operations do before "
					    "sm_90");
	w.tables = &probes->sections[sass_section_of(probes, ".nv.constant2.", k->text)]; /* if there is no such
	                                                                                   * section, section 0,
	                                                                                   * which has no data */
	err = legalize_probe(&w, probes, k, probe);
	free(w.lines);
	sass_liveness_finish(&w.live);
	sass_cfg_finish(&w.cfg);
	if (err < 0)
		sass_probe_finish(probe);
	return err;
}

void sass_probe_finish(struct sass_probe *probe)
{
	free(probe->insns);
	*probe = (struct sass_probe){ 0 };
}
