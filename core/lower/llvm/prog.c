/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expands one program into a site's function. Each function of the program is expanded in line at each call, with its
 * own registers. Facts about the caller's pointers (frame, offset) then also hold in the callee, and no target needs
 * calls. Only instructions that are reachable from the function's first instruction are expanded.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "low.h"
#include "maps/impl.h"

static int expand(struct low_frame *f, uint32_t first);

/* Returns the pc of the next instruction. A 64-bit immediate load takes two entries. */
static uint32_t get_next_pc(const struct low_frame *f, uint32_t pc)
{
	return pc + (f->p->prog->insns[pc].kind == GPUBPF_INSN_IMM64 ? 2 : 1);
}

static uint32_t get_flags(const struct low_frame *f, uint32_t pc)
{
	const struct gpubpf_facts *facts = f->p->prog->facts;

	return f->p->l->job->checked ? GPUBPF_FACT_REACHED : facts->insn[pc].flags;
}

static LLVMBasicBlockRef get_block(struct low_frame *f, uint32_t pc)
{
	char name[24];

	snprintf(name, sizeof(name), "pc%u", pc);
	if (!f->block[pc])
		f->block[pc] = low_block(f->p, name);
	return f->block[pc];
}

/* Emits the end of a path that runs past the last instruction. In a verified program no execution takes such a path. */
static void emit_past_end(struct low_frame *f, uint32_t pc)
{
	struct low *l = f->p->l;

	if (l->job->checked)
		low_check_fail(f, pc, GPUBPF_RUN_END, low_const(l, 0));
	else
		LLVMBuildBr(l->b, f->p->done);
}

static void jump_cond(struct low_frame *f, uint32_t pc)
{
	const struct gpubpf_insn *insn = &f->p->prog->insns[pc];
	struct low *l = f->p->l;
	LLVMBasicBlockRef taken, on;
	uint32_t what = get_flags(f, pc);
	LLVMValueRef cond;

	if (what & GPUBPF_FACT_ALWAYS) {
		LLVMBuildBr(l->b, get_block(f, insn->target));
		return;
	}
	if (what & GPUBPF_FACT_NEVER) {
		LLVMBuildBr(l->b, get_block(f, get_next_pc(f, pc)));
		return;
	}
	cond = low_condition(f, insn);
	on = get_block(f, get_next_pc(f, pc));
	if (!l->job->checked) {
		LLVMBuildCondBr(l->b, cond, get_block(f, insn->target), on);
		return;
	}
	taken = low_block(f->p, "taken");
	LLVMBuildCondBr(l->b, cond, taken, on);
	LLVMPositionBuilderAtEnd(l->b, taken);
	low_check_branch(f, pc);
	LLVMBuildBr(l->b, get_block(f, insn->target));
}

static int emit_imm64(struct low_frame *f, const struct gpubpf_insn *insn)
{
	struct low *l = f->p->l;
	LLVMValueRef args[12], v;
	char name[64];
	unsigned n;

	switch (insn->op) {
	case GPUBPF_IMM_CONST:
	case GPUBPF_IMM_STACK:
		low_set(f, insn->dst, low_const(l, insn->imm64));
		return 0;
	case GPUBPF_IMM_MAP:
		low_set(f, insn->dst, low_const(l, GPUBPF_PTR_MAP + insn->imm));
		return 0;
	case GPUBPF_IMM_FUNC: /* the callback's first pc, as in the facts of the call */
		low_set(f, insn->dst, low_const(l, insn->target));
		return 0;
	}
	if (l->job->checked)
		return gpubpf_diag_set(l->diag, GPUBPF_E_TARGET_LACKS, insn - f->p->prog->insns,
				       "an unverified program has no maps");
	v = low_has_first_register(f, insn->imm) ? low_first_value(f, insn->imm) : NULL;
	if (!v) {
		snprintf(name, sizeof(name), "gpubpf_%s_address", l->job->unit->maps[insn->imm].type->impl->name);
		args[0] = f->p->env;
		n = 1 + low_unit_map(l, args[0], insn->imm, &l->job->layouts[insn->imm], args + 1);
		args[n++] = low_const32(l, 0);
		v = low_call(l, name, args, n);
	}
	if (!v)
		return -EINVAL;
	low_set(f, insn->dst, LLVMBuildAdd(l->b, v, low_const(l, insn->imm64), ""));
	return 0;
}

static int refuse_depth(struct low_frame *f, uint32_t pc)
{
	return gpubpf_diag_set(f->p->l->diag, GPUBPF_E_CALL_DEPTH, pc, "calls nest deeper than %d functions",
			       GPUBPF_MAX_FRAMES);
}

/* Creates the callee's registers. All are 0 except r10, which points to the next stack frame. */
static void begin_frame(const struct low_frame *f, struct low_frame *callee, LLVMBasicBlockRef ret)
{
	struct low *l = f->p->l;

	callee->ret = ret;
	for (unsigned r = 0; r < GPUBPF_NREGS; r++) {
		callee->reg[r] = low_alloca(f->p, low_int(l, 8), 8, "");
		low_set(callee, r, low_const(l, 0));
	}
	low_set(callee, GPUBPF_R10,
		LLVMBuildAdd(l->b, LLVMBuildLoad2(l->b, low_int(l, 8), f->reg[GPUBPF_R10], ""),
			     low_const(l, GPUBPF_STACK_SIZE), ""));
}

/*
 * Returns the result of bpf_loop() before its first iteration, as the Linux kernel does: -errno for bad arguments, else
 * 0.
 */
static LLVMValueRef loop_error(struct low_frame *f)
{
	struct low *l = f->p->l;
	LLVMValueRef flags = LLVMBuildIsNotNull(l->b, low_get(f, GPUBPF_R4), "");
	LLVMValueRef many = LLVMBuildICmp(l->b, LLVMIntUGT, low_get(f, GPUBPF_R1), low_const(l, GPUBPF_LOOP_MAX), "");

	many = LLVMBuildSelect(l->b, many, low_const(l, -E2BIG), low_const(l, 0), "");
	return LLVMBuildSelect(l->b, flags, low_const(l, -EINVAL), many, "");
}

int low_rounds_begin(struct low_frame *f, uint32_t pc, struct low_rounds *r)
{
	struct low *l = f->p->l;

	*r = (struct low_rounds){ .f = f, .header = low_block(f->p, "ask"), .i = low_alloca(f->p, low_int(l, 8), 8, "i") };
	if (f->depth + 1 >= GPUBPF_MAX_FRAMES)
		return refuse_depth(f, pc);
	LLVMBuildStore(l->b, low_const(l, 0), r->i);
	LLVMBuildBr(l->b, r->header);
	LLVMPositionBuilderAtEnd(l->b, r->header);
	return 0;
}

int low_rounds_end(struct low_rounds *r, uint32_t target, LLVMValueRef more, const LLVMValueRef *args, unsigned n)
{
	struct low_frame *f = r->f, callee = { .p = f->p, .depth = f->depth + 1 };
	LLVMBasicBlockRef round = low_block(f->p, "round"), back = low_block(f->p, "back"), done = low_block(f->p, "done");
	struct low *l = f->p->l;
	LLVMValueRef at;
	int err;

	LLVMBuildCondBr(l->b, more, round, done);
	LLVMPositionBuilderAtEnd(l->b, round);
	begin_frame(f, &callee, back);
	for (unsigned i = 0; i < n; i++)
		low_set(&callee, GPUBPF_R1 + i, args[i]);
	at = LLVMBuildLoad2(l->b, low_int(l, 8), r->i, "");
	LLVMBuildStore(l->b, LLVMBuildAdd(l->b, at, low_const(l, 1), ""), r->i);
	err = expand(&callee, target);
	LLVMPositionBuilderAtEnd(l->b, back);
	LLVMBuildCondBr(l->b, LLVMBuildIsNull(l->b, low_get(&callee, GPUBPF_R0), ""), r->header, done);
	LLVMPositionBuilderAtEnd(l->b, done);
	low_set(f, GPUBPF_R0, LLVMBuildLoad2(l->b, low_int(l, 8), r->i, ""));
	return err;
}

int low_loop(struct low_frame *f, uint32_t pc, uint32_t target)
{
	struct low *l = f->p->l;
	LLVMValueRef error = loop_error(f), n, args[2];
	struct low_rounds r;
	int err;

	n = LLVMBuildSelect(l->b, LLVMBuildIsNull(l->b, error, ""), low_get(f, GPUBPF_R1), low_const(l, 0), "");
	args[1] = low_get(f, GPUBPF_R3);
	err = low_rounds_begin(f, pc, &r);
	if (err < 0)
		return err;
	args[0] = LLVMBuildLoad2(l->b, low_int(l, 8), r.i, "");
	err = low_rounds_end(&r, target, LLVMBuildICmp(l->b, LLVMIntULT, args[0], n, ""), args, 2);
	low_set(f, GPUBPF_R0, LLVMBuildAdd(l->b, error, low_get(f, GPUBPF_R0), ""));
	return err;
}

/*
 * Expands the callee in line. Copies r1 to r5 to the callee, and r0 from the callee. r6 to r9 keep their values,
 * because the callee has its own registers.
 */
static int call_local(struct low_frame *f, uint32_t pc)
{
	struct low *l = f->p->l;
	struct low_frame callee = { .p = f->p, .depth = f->depth + 1 };
	LLVMBasicBlockRef after;
	int err;

	if (l->job->checked)
		low_check_branch(f, pc);
	if (callee.depth >= GPUBPF_MAX_FRAMES) {
		if (!l->job->checked)
			return refuse_depth(f, pc);
		low_check_fail(f, pc, GPUBPF_RUN_DEPTH, low_const(l, 0));
		return 0;
	}
	after = low_block(f->p, "after");
	begin_frame(f, &callee, after);
	for (unsigned r = GPUBPF_R1; r <= GPUBPF_R5; r++)
		low_set(&callee, r, low_get(f, r));
	if (l->job->checked)
		low_check_depth(f, callee.depth);
	err = expand(&callee, f->p->prog->insns[pc].target);
	if (err < 0)
		return err;
	LLVMPositionBuilderAtEnd(l->b, after);
	low_set(f, GPUBPF_R0, low_get(&callee, GPUBPF_R0));
	if (l->job->checked)
		low_check_depth(f, f->depth);
	return 0;
}

static bool ends_block(const struct gpubpf_insn *insn)
{
	return insn->kind == GPUBPF_INSN_JUMP || insn->kind == GPUBPF_INSN_JCOND || insn->kind == GPUBPF_INSN_EXIT;
}

static int emit_insn(struct low_frame *f, uint32_t pc)
{
	const struct gpubpf_insn *insn = &f->p->prog->insns[pc];
	struct low *l = f->p->l;

	switch ((enum gpubpf_insn_kind)insn->kind) {
	case GPUBPF_INSN_ALU:
		low_alu(f, insn);
		return 0;
	case GPUBPF_INSN_LOAD:
		return low_load(f, pc);
	case GPUBPF_INSN_STORE:
		return low_store(f, pc);
	case GPUBPF_INSN_ATOMIC:
		return low_atomic(f, pc);
	case GPUBPF_INSN_JUMP:
		if (l->job->checked)
			low_check_branch(f, pc);
		LLVMBuildBr(l->b, get_block(f, insn->target));
		return 0;
	case GPUBPF_INSN_JCOND:
		jump_cond(f, pc);
		return 0;
	case GPUBPF_INSN_CALL:
		return l->job->checked ? low_check_helper(f, pc) : low_helper(f, pc);
	case GPUBPF_INSN_CALL_LOCAL:
		return call_local(f, pc);
	case GPUBPF_INSN_EXIT:
		LLVMBuildBr(l->b, f->ret);
		return 0;
	case GPUBPF_INSN_IMM64:
		return emit_imm64(f, insn);
	case GPUBPF_INSN_HI:
		break;
	}
	return 0;
}

/* Expands the instructions from pc to the end of its basic block, and pushes the successors on `pending`. */
static int expand_block(struct low_frame *f, uint32_t pc, bool *begins, uint32_t *pending, uint32_t *npending)
{
	const struct gpubpf_prog *prog = f->p->prog;
	struct low *l = f->p->l;
	int err;

	for (;;) {
		const struct gpubpf_insn *insn = &prog->insns[pc];
		uint32_t after;

		if (!(get_flags(f, pc) & GPUBPF_FACT_REACHED)) {
			emit_past_end(f, pc);
			return 0;
		}
		if (++*f->p->expanded > LOW_MAX_EXPANDED)
			return gpubpf_diag_set(l->diag, GPUBPF_E_TOO_COMPLEX, pc,
					       "with its sub-programs expanded in line, the site has more than %d instructions",
					       LOW_MAX_EXPANDED);
		after = get_next_pc(f, pc);
		if (insn->kind == GPUBPF_INSN_JCOND && after >= prog->ninsns) {
			emit_past_end(f, pc);
			return 0;
		}
		err = emit_insn(f, pc);
		if (err < 0)
			return err;
		if (insn->kind == GPUBPF_INSN_JUMP || insn->kind == GPUBPF_INSN_JCOND)
			pending[(*npending)++] = insn->target;
		if (insn->kind == GPUBPF_INSN_JCOND)
			pending[(*npending)++] = after;
		if (ends_block(insn) || LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(l->b)))
			return 0;
		if (after >= prog->ninsns) {
			emit_past_end(f, pc);
			return 0;
		}
		if (begins[after]) {
			LLVMBuildBr(l->b, get_block(f, after));
			pending[(*npending)++] = after;
			return 0;
		}
		pc = after;
	}
}

static void find_begins(const struct gpubpf_prog *prog, bool *begins)
{
	for (uint32_t pc = 0; pc < prog->ninsns; pc++) {
		const struct gpubpf_insn *insn = &prog->insns[pc];

		if (insn->kind == GPUBPF_INSN_JUMP || insn->kind == GPUBPF_INSN_JCOND)
			begins[insn->target] = true;
	}
}

/* Adds a terminator to each block that lacks one. Branches created these blocks, but no path reaches them. */
static void close_blocks(struct low_frame *f)
{
	for (uint32_t pc = 0; pc < f->p->prog->ninsns; pc++)
		if (f->block[pc] && !LLVMGetBasicBlockTerminator(f->block[pc])) {
			LLVMPositionBuilderAtEnd(f->p->l->b, f->block[pc]);
			emit_past_end(f, pc);
		}
}

/* Begins to count the function's may_goto. */
static void begin_may_goto(struct low_frame *f)
{
	const struct gpubpf_prog *prog = f->p->prog;
	struct low *l = f->p->l;

	for (uint32_t pc = 0; pc < prog->ninsns && !f->may_left; pc++)
		if (prog->insns[pc].kind == GPUBPF_INSN_JCOND && prog->insns[pc].op == GPUBPF_MAY_GOTO)
			f->may_left = low_alloca(f->p, low_int(l, 8), 8, "may_left");
	if (f->may_left)
		LLVMBuildStore(l->b, low_const(l, GPUBPF_MAY_GOTO_MAX), f->may_left);
}

static int expand_in(struct low_frame *f, uint32_t first, struct gpubpf_pool *pool)
{
	struct low *l = f->p->l;
	uint32_t n = f->p->prog->ninsns, npending = 0;
	bool *begins = gpubpf_pool_alloc(pool, n, sizeof(*begins));
	bool *seen = gpubpf_pool_alloc(pool, n, sizeof(*seen));
	uint32_t *pending = gpubpf_pool_alloc(pool, 2 * (size_t)n + 1, sizeof(*pending));
	int err;

	f->block = gpubpf_pool_alloc(pool, n, sizeof(*f->block));
	f->loaded = gpubpf_pool_alloc(pool, n, sizeof(*f->loaded));
	if (pool->failed)
		return -ENOMEM;
	find_begins(f->p->prog, begins);
	begin_may_goto(f);
	LLVMBuildBr(l->b, get_block(f, first));
	pending[npending++] = first;
	while (npending) {
		uint32_t pc = pending[--npending];

		if (seen[pc])
			continue;
		seen[pc] = true;
		LLVMPositionBuilderAtEnd(l->b, get_block(f, pc));
		err = expand_block(f, pc, begins, pending, &npending);
		if (err < 0)
			return err;
	}
	close_blocks(f);
	return 0;
}

/* Expands the instructions that are reachable from `first`, depth first. The builder must be in the caller's block. */
static int expand(struct low_frame *f, uint32_t first)
{
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;
	int err = expand_in(f, first, &pool);

	gpubpf_pool_finish(&pool);
	return err;
}

static LLVMValueRef load_arena(struct low_prog *p)
{
	struct low *l = p->l;
	LLVMValueRef at = low_byte_ptr(l, p->env, low_const32(l, offsetof(struct gpubpf_env, arena)));

	return LLVMBuildLoad2(l->b, low_int(l, 8), at, "arena");
}

/*
 * Sets r1 to the context. For a program of the conformance tool, which runs on MEM, sets r1 and r2 to the address and
 * length of MEM.
 */
static void set_arguments(struct low_frame *f)
{
	struct low *l = f->p->l;
	LLVMValueRef run;

	if (!l->job->plain_mem && !l->job->checked) {
		low_set(f, GPUBPF_R1, low_const(l, GPUBPF_PTR_CTX));
		return;
	}
	run = LLVMBuildAdd(l->b, load_arena(f->p), low_const(l, gpubpf_lower_run(l->job, f->p->index)), "run");
	low_set(f, GPUBPF_R1, LLVMBuildAdd(l->b, run, low_const(l, GPUBPF_RUN_MEM), ""));
	low_set(f, GPUBPF_R2,
		low_device_load(l, LLVMBuildAdd(l->b, run, low_const(l, offsetof(struct gpubpf_run, mem_size)), ""), 8, 8));
	if (l->job->checked)
		low_set(f, GPUBPF_R10, LLVMBuildAdd(l->b, run, low_const(l, GPUBPF_RUN_STACK + GPUBPF_STACK_SIZE), ""));
}

static int prepare_rmw(struct low_prog *p)
{
	const struct gpubpf_prog *prog = p->prog;

	p->rmw = gpubpf_pool_alloc(p->l->pool, prog->ninsns, sizeof(*p->rmw));
	if (!p->rmw)
		return -ENOMEM;
	for (uint32_t pc = 0; pc < prog->ninsns; pc++)
		if (prog->insns[pc].kind == GPUBPF_INSN_STORE && low_is_atomic_add(p, pc))
			p->rmw[prog->facts->insn[pc].other] = true;
	return 0;
}

static int prepare(struct low_prog *p)
{
	int err;

	if (p->l->job->checked)
		return 0;
	if (!p->prog->facts)
		return gpubpf_diag_set(p->l->diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
				       "the program is not verified, so it cannot be lowered");
	err = prepare_rmw(p);
	return err < 0 ? err : low_stack_cut(p);
}

int low_program(struct low_prog *p)
{
	struct low *l = p->l;
	struct low_frame f = { .p = p };
	int err = prepare(p);

	if (err < 0)
		return err;
	if (l->job->checked)
		low_check_begin(p);
	f.ret = low_block(p, "exit");
	for (unsigned r = 0; r < GPUBPF_NREGS; r++) {
		f.reg[r] = low_alloca(p, low_int(l, 8), 8, "");
		low_set(&f, r, low_const(l, r == GPUBPF_R10 ? GPUBPF_PTR_STACK + GPUBPF_STACK_SIZE : 0));
	}
	LLVMBuildStore(l->b, low_const(l, 0), p->r0);
	set_arguments(&f);
	err = expand(&f, 0);
	LLVMPositionBuilderAtEnd(l->b, f.ret);
	LLVMBuildStore(l->b, low_get(&f, GPUBPF_R0), p->r0);
	if (!err && p->prog->facts && p->prog->facts->is_run)
		low_call(l, "gpubpf_direct_result", (LLVMValueRef[]){ p->env, low_get(&f, GPUBPF_R0) }, 2);
	LLVMBuildBr(l->b, p->done);
	return err;
}
