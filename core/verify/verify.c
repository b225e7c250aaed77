/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks every path through the program, with the known state of each register and stack slot. A path ends at an exit,
 * or when an earlier state covers its state. docs/reference/verifier.md explains why this is sound.
 */
#include "verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WALKED 1000000
/*
 * Maximum number of marks before an instruction is walked. The instruction may create up to 4096 more. The array then
 * has at most 4 Mi marks (48 MiB).
 */
#define MAX_MARKS ((4u << 20) - 4096)

/* Takes the next queued path. Returns false when all paths are walked. */
static bool next_path(struct verifier *v)
{
	state_free(v, v->cur);
	v->cur = NULL;
	if (!v->npending)
		return false;
	v->cur = v->pending[--v->npending].state;
	v->pc = v->pending[v->npending].pc;
	trace_path(v, v->pending[v->npending].from);
	return true;
}

/* Walks one instruction. Returns 1 if the path ended. */
static int step(struct verifier *v)
{
	const struct gpubpf_insn *insn = &v->insns[v->pc];
	uint32_t pc = v->pc;
	int err = 0;

	switch ((enum gpubpf_insn_kind)insn->kind) {
	case GPUBPF_INSN_ALU:
		err = do_alu(v, insn);
		break;
	case GPUBPF_INSN_IMM64:
		err = do_imm64(v, insn);
		break;
	case GPUBPF_INSN_LOAD:
		err = do_load(v, insn);
		break;
	case GPUBPF_INSN_STORE:
		err = do_store(v, insn);
		v->pc++;
		return err;
	case GPUBPF_INSN_ATOMIC:
		err = do_atomic(v, insn);
		v->pc++;
		return err;
	case GPUBPF_INSN_JUMP:
		v->jumps_since++;
		tally_jump(v, v->cur, v->pc);
		v->pc = insn->target;
		return 0;
	case GPUBPF_INSN_JCOND:
		return do_jcond(v, insn);
	case GPUBPF_INSN_CALL:
		return do_call(v, insn);
	case GPUBPF_INSN_CALL_LOCAL:
		return do_call_local(v, insn);
	case GPUBPF_INSN_EXIT:
		return do_exit(v);
	case GPUBPF_INSN_HI:
		return refuse(v, GPUBPF_E_BAD_JUMP, "runs into the middle of a 64-bit load");
	}
	if (err < 0)
		return err;
	facts_value(v, pc, &cur_regs(v)[insn->dst]);
	v->pc = insn_next(v, pc);
	return 0;
}

static int check_limits(struct verifier *v)
{
	if (v->no_memory)
		return -ENOMEM;
	if (v->nmarks > MAX_MARKS)
		return refuse(v, GPUBPF_E_TOO_COMPLEX, "the program has more than %u different numbers on its paths",
			      MAX_MARKS);
	if (v->walked++ >= v->opts.max_states)
		return refuse(v, GPUBPF_E_TOO_COMPLEX, "%llu instructions were checked, and some paths remain",
			      (unsigned long long)v->opts.max_states);
	return 0;
}

static int walk(struct verifier *v)
{
	static const struct tally nothing;
	int r;

	do {
		r = check_limits(v);
		if (r >= 0 && v->aux[v->pc].prune)
			r = prune_at(v, v->pc);
		if (r == 1)
			trace_covered(v);
		if (r == 0) {
			v->aux[v->pc].walked++;
			v->cur->tally.cost.insns++;
			v->insns_since++;
			if (v->watch)
				v->watch->fn(v->watch->arg, v);
			trace_before(v);
			r = step(v);
			if (r >= 0)
				trace_after(v, r == 1);
			if (r == 1)
				path_done(v, &nothing);
		}
	} while (r == 0 || (r == 1 && next_path(v)));
	if (v->no_memory)
		return -ENOMEM;
	return r < 0 ? r : 0;
}

static void set_memory_args(struct verifier *v, struct reg *regs)
{
	reg_const(&regs[GPUBPF_R1], 0);
	reg_const(&regs[GPUBPF_R2], v->opts.mem_size);
	regs[GPUBPF_R1].type = R_MEM;
	regs[GPUBPF_R1].size = v->opts.mem_size < MAX_OFFSET ? (uint32_t)v->opts.mem_size : MAX_OFFSET;
}

static int begin(struct verifier *v)
{
	struct reg *r1;

	v->cur = state_new(v);
	if (!v->cur || !frame_push(v, v->cur, 0, 0))
		return -ENOMEM;
	r1 = &cur_regs(v)[GPUBPF_R1];
	if (v->opts.plain_mem) {
		set_memory_args(v, cur_regs(v));
		return 0;
	}
	reg_const(r1, 0);
	r1->type = R_CTX;
	return 0;
}

static int check_cost(struct verifier *v)
{
	const struct gpubpf_cost *c = &v->facts->cost;
	const struct gpubpf_line *line = gpubpf_prog_line(v->prog, c->hot_pc);
	char at[64] = "";

	if (v->opts.max_cost == UINT64_MAX || c->insns <= v->opts.max_cost)
		return 0;
	if (line)
		snprintf(at, sizeof(at), " (line %u)", line->line);
	return gpubpf_diag_set(v->diag, GPUBPF_E_COST, c->hot_pc,
			       "a thread may run %llu instructions; the limit is %llu; most of them are near "
			       "instruction %u%s",
			       (unsigned long long)c->insns, (unsigned long long)v->opts.max_cost, c->hot_pc, at);
}

/* Notes the kernel arguments that a direct run uses for its result (core/wire/direct.h). */
static void note_run(struct verifier *v)
{
	v->facts->is_run = v->prog->is_run;
	if (v->prog->is_run)
		v->facts->ctx_args |= GPUBPF_DIRECT_ARGS;
}

static int run(struct verifier *v)
{
	int err;

	if (!v->n)
		return gpubpf_diag_set(v->diag, GPUBPF_E_CFG, GPUBPF_NOPC, "the program is empty");
	v->aux = calloc(v->n, sizeof(*v->aux));
	if (!v->aux || facts_init(v) < 0 || trace_init(v) < 0)
		return -ENOMEM;
	note_run(v);
	err = cfg_check(v);
	if (err < 0)
		return err;
	cfg_liveness(v);
	if ((err = begin(v)) < 0 || (err = walk(v)) < 0 || (err = cfg_stack_depth(v)) < 0)
		return err;
	rounds_add(v);
	err = facts_finish(v);
	if (err < 0)
		return err;
	err = check_cost(v);
	return err < 0 ? err : simt_check(v);
}

static void finish(struct verifier *v)
{
	state_free(v, v->cur);
	while (v->npending)
		state_free(v, v->pending[--v->npending].state);
	while (v->checkpoints) {
		struct checkpoint *c = v->checkpoints;

		v->checkpoints = c->all;
		state_free(v, c->state);
		free(c->round);
		free(c);
	}
	free(v->pending);
	free(v->marks);
	free(v->mark_work);
	free(v->notes);
	free(v->trace);
	free(v->funcs);
	free(v->aux);
}

int verify_watched(const struct gpubpf_unit *unit, struct gpubpf_prog *prog, const struct gpubpf_verify_opts *opts,
		   const struct watch *watch, struct gpubpf_diag *diag)
{
	static const struct gpubpf_verify_opts defaults;
	struct verifier v = {
		.unit = unit,
		.prog = prog,
		.insns = prog->insns,
		.n = prog->ninsns,
		.opts = opts ? *opts : defaults,
		.diag = diag,
		.watch = watch,
		.compare_all = watch && watch->compare_all,
	};
	int err;

	if (!v.opts.max_cost)
		v.opts.max_cost = GPUBPF_MAX_INSNS;
	if (!v.opts.max_states)
		v.opts.max_states = MAX_WALKED;
	err = run(&v);
	if (err == -ENOMEM)
		gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory to verify the program");
	if (err < 0) {
		report_fill(&v);
		gpubpf_facts_destroy(v.facts);
	} else {
		gpubpf_facts_destroy(prog->facts);
		prog->facts = v.facts;
	}
	finish(&v);
	return err == -ENOMEM ? err : err < 0 ? -EINVAL : 0;
}

int gpubpf_verify(const struct gpubpf_unit *unit, struct gpubpf_prog *prog, const struct gpubpf_verify_opts *opts,
		  struct gpubpf_diag *diag)
{
	return verify_watched(unit, prog, opts, NULL, diag);
}
