/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits a verified program as OpenCL C. Each function becomes a static function, registers become its variables, and
 * jumps become gotos. Instructions that the verifier did not reach are not emitted.
 */
#include <errno.h>
#include <stdlib.h>

#include "opencl_c.h"
#include "core/model/diag.h"

static const struct gpubpf_func *get_func(const struct clc *c)
{
	return &c->prog->funcs[c->func];
}

static bool reached(const struct clc *c, uint32_t pc)
{
	return c->prog->facts->insn[pc].flags & GPUBPF_FACT_REACHED;
}

static int find_func(const struct clc *c, uint32_t pc)
{
	for (uint32_t i = 0; i < c->prog->nfuncs; i++)
		if (c->prog->funcs[i].first == pc)
			return (int)i;
	return gpubpf_diag_set(c->diag, GPUBPF_E_BAD_JUMP, pc, "no function begins at instruction %u", pc);
}

static void emit_signature(struct clc *c, uint32_t func)
{
	text_add(c->t,
		 "static u64 " CLC_PROG "_f%u(GPUBPF_ENV, GPUBPF_PRIVATE uchar *stack, GPUBPF_PRIVATE s32 *ended,\n"
		 "\tu64 r1, u64 r2, u64 r3, u64 r4, u64 r5, const u64 r10)",
		 CLC_PROG_ARGS(c), func);
}

static void call_local(struct clc *c, uint32_t pc)
{
	text_add(c->t, "r0 = " CLC_PROG "_f%d(env, stack, ended, r1, r2, r3, r4, r5, r10 + %uUL);\n", CLC_PROG_ARGS(c),
		 find_func(c, c->prog->insns[pc].target), GPUBPF_STACK_SIZE);
	if (c->prog->facts->ends_thread)
		text_add(c->t, "\tif (*ended) return 0;\n");
}

static const char *ended_check(const struct clc *c)
{
	return c->prog->facts->ends_thread ? "if (*ended) return 0; " : "";
}

int clc_loop(struct clc *c, uint32_t target)
{
	int func = find_func(c, target);

	if (func < 0)
		return func;
	if (!reached(c, target)) { /* the loop has no iterations, so its callback is not emitted */
		text_add(c->t, "r0 = r4 ? (u64)-%dL : r1 > %uUL ? (u64)-%dL : 0; ", EINVAL, GPUBPF_LOOP_MAX, E2BIG);
		return 0;
	}
	text_add(c->t,
		 "u64 i = 0; if (r4) r0 = (u64)-%dL; else if (r1 > %uUL) r0 = (u64)-%dL; else { while (i < r1) { r0 = " CLC_PROG
		 "_f%d(env, stack, ended, i++, r3, 0, 0, 0, r10 + %uUL); %sif (r0) break; } r0 = i; } ",
		 EINVAL, GPUBPF_LOOP_MAX, E2BIG, CLC_PROG_ARGS(c), func, GPUBPF_STACK_SIZE, ended_check(c));
	return 0;
}

/*
 * Emits helper 164, which calls a function for each element of a map. If its flags are not 0, it calls the function for
 * no element. Each frame has a key frame for the keys of its calls, after all frames of the program. The distance from
 * a frame to its key frame is the same for all frames (core/model/facts.h).
 */
int clc_each(struct clc *c, uint32_t target, const char *next)
{
	int func = find_func(c, target);

	if (func < 0)
		return func;
	text_add(c->t,
		 "u64 i = 0, at = r4 ? ~0UL : 0, v; const u64 key = r10 + %uUL; while ((v = %s, &at, stack + (u32)(key - %uUL)))) { "
		 "i++; r0 = " CLC_PROG
		 "_f%d(env, stack, ended, r1, key, v, r3, 0, r10 + %uUL); %sif (r0) break; } r0 = r4 ? (u64)-%dL : i; ",
		 (c->prog->facts->frames - 1) * GPUBPF_STACK_SIZE, next, GPUBPF_PTR_STACK, CLC_PROG_ARGS(c), func,
		 GPUBPF_STACK_SIZE, ended_check(c), EINVAL);
	return 0;
}

static void jump_if(struct clc *c, uint32_t pc)
{
	const struct gpubpf_insn *insn = &c->prog->insns[pc];
	uint32_t flags = c->prog->facts->insn[pc].flags;

	if (flags & GPUBPF_FACT_NEVER) {
		text_add(c->t, ";\n");
		return;
	}
	if (!(flags & GPUBPF_FACT_ALWAYS)) {
		text_add(c->t, "if ");
		clc_condition(c, insn);
		text_add(c->t, " ");
	}
	text_add(c->t, "goto L%u;\n", insn->target);
}

static int emit_imm64(struct clc *c, uint32_t pc)
{
	const struct gpubpf_insn *insn = &c->prog->insns[pc];

	switch (insn->op) {
	case GPUBPF_IMM_MAP:
		text_add(c->t, "r%u = 0x%xUL;\n", insn->dst, GPUBPF_PTR_MAP + insn->imm);
		return 0;
	case GPUBPF_IMM_FUNC:
		text_add(c->t, "r%u = %uUL;\n", insn->dst, insn->target);
		return 0;
	case GPUBPF_IMM_MAP_VALUE:
		text_add(c->t, "r%u = gpubpf_map%d_address(env, 0) + %lluUL;\n", insn->dst, insn->imm,
			 (unsigned long long)insn->imm64);
		return 0;
	}
	text_add(c->t, "r%u = 0x%llxUL;\n", insn->dst, (unsigned long long)insn->imm64);
	return 0;
}

static int emit_insn(struct clc *c, uint32_t pc)
{
	const struct gpubpf_insn *insn = &c->prog->insns[pc];

	switch ((enum gpubpf_insn_kind)insn->kind) {
	case GPUBPF_INSN_ALU:
		clc_alu(c, insn);
		return 0;
	case GPUBPF_INSN_LOAD:
		return clc_load(c, pc);
	case GPUBPF_INSN_STORE:
		return clc_store(c, pc);
	case GPUBPF_INSN_ATOMIC:
		return clc_atomic(c, pc);
	case GPUBPF_INSN_JUMP:
		text_add(c->t, "goto L%u;\n", insn->target);
		return 0;
	case GPUBPF_INSN_JCOND:
		jump_if(c, pc);
		return 0;
	case GPUBPF_INSN_CALL:
		return clc_call(c, pc);
	case GPUBPF_INSN_CALL_LOCAL:
		call_local(c, pc);
		return 0;
	case GPUBPF_INSN_EXIT:
		text_add(c->t, "return r0;\n");
		return 0;
	case GPUBPF_INSN_IMM64:
		return emit_imm64(c, pc);
	case GPUBPF_INSN_HI:
		break;
	}
	text_add(c->t, ";\n");
	return 0;
}

/* Marks the targets of jumps that can be taken, which get labels. */
static void mark_targets(const struct clc *c, bool *target)
{
	const struct gpubpf_func *func = get_func(c);

	for (uint32_t pc = func->first; pc < func->first + func->count; pc++) {
		const struct gpubpf_insn *insn = &c->prog->insns[pc];
		bool jumps = insn->kind == GPUBPF_INSN_JUMP || insn->kind == GPUBPF_INSN_JCOND;

		if (jumps && reached(c, pc) && !(c->prog->facts->insn[pc].flags & GPUBPF_FACT_NEVER))
			target[insn->target] = true;
	}
}

static void emit_variables(struct clc *c)
{
	const struct gpubpf_func *func = get_func(c);
	uint32_t used = 1;
	bool may_goto = false;

	for (uint32_t pc = func->first; pc < func->first + func->count; pc++) {
		used |= 1u << c->prog->insns[pc].dst | 1u << c->prog->insns[pc].src;
		may_goto |= clc_is_may_goto(&c->prog->insns[pc]);
	}
	if (may_goto)
		text_add(c->t, "\tu32 may_left = %d;\n", GPUBPF_MAY_GOTO_MAX);
	text_add(c->t, "\tu64 r0 = 0;\n");
	for (uint32_t r = GPUBPF_R6; r <= GPUBPF_R9; r++)
		if (used & 1u << r)
			text_add(c->t, "\tu64 r%u = 0;\n", r);
	for (uint32_t pc = func->first; pc < func->first + func->count; pc++)
		if (c->rmw_load[pc])
			text_add(c->t, "\tu64 m%u = 0;\n", pc);
}

static int emit_function(struct clc *c, bool *target)
{
	const struct gpubpf_func *func = get_func(c);
	int err;

	mark_targets(c, target);
	emit_signature(c, c->func);
	text_add(c->t, "\n{\n");
	emit_variables(c);
	for (uint32_t pc = func->first; pc < func->first + func->count; pc++) {
		if (!reached(c, pc) || c->prog->insns[pc].kind == GPUBPF_INSN_HI)
			continue;
		if (target[pc])
			text_add(c->t, "L%u:", pc);
		text_add(c->t, "\t");
		err = emit_insn(c, pc);
		if (err < 0)
			return err;
	}
	text_add(c->t, "\treturn r0;\n}\n\n");
	return 0;
}

static int emit_functions(struct clc *c, bool *target)
{
	for (uint32_t pc = 0; pc < c->prog->ninsns; pc++)
		if (reached(c, pc) && c->prog->insns[pc].kind == GPUBPF_INSN_STORE && clc_is_atomic_add(c, pc))
			c->rmw_load[c->prog->facts->insn[pc].other] = true;
	for (uint32_t i = 0; i < c->prog->nfuncs; i++)
		if (reached(c, c->prog->funcs[i].first)) {
			emit_signature(c, i);
			text_add(c->t, ";\n");
		}
	for (c->func = 0; c->func < c->prog->nfuncs; c->func++) {
		int err = reached(c, get_func(c)->first) ? emit_function(c, target) : 0;

		if (err < 0)
			return err;
	}
	return 0;
}

/*
 * Emits the program's entry, which declares the stack as an array. If the program has no calls, the array has only the
 * bytes that the program touches.
 */
static void emit_entry(struct clc *c)
{
	const struct gpubpf_facts *facts = c->prog->facts;
	uint32_t frames = (facts->frames ? facts->frames : 1) + facts->keys;
	uint32_t room = frames * GPUBPF_STACK_SIZE - c->stack_skip;

	text_add(c->t,
		 "static u64 " CLC_PROG "(GPUBPF_ENV, GPUBPF_PRIVATE s32 *ended)\n{\n"
		 "\tulong stack[%u];\n\n"
		 "\tu64 r0 = " CLC_PROG "_f0(env, (GPUBPF_PRIVATE uchar *)stack, ended, ",
		 CLC_PROG_ARGS(c), room ? (room + 7) / 8 : 1, CLC_PROG_ARGS(c));
	if (c->job->plain_mem)
		text_add(c->t, "env->arena + %lluUL, GPUBPF_GLOB(gpubpf_w8a8, env->arena + %lluUL), ",
			 (unsigned long long)(clc_run(c) + GPUBPF_RUN_MEM),
			 (unsigned long long)(clc_run(c) + offsetof(struct gpubpf_run, mem_size)));
	else
		text_add(c->t, "0x%xUL, 0, ", GPUBPF_PTR_CTX);
	text_add(c->t, "0, 0, 0, 0x%xUL);\n\n", GPUBPF_PTR_STACK + GPUBPF_STACK_SIZE);
	if (facts->is_run)
		text_add(c->t, "\tgpubpf_direct_result(env, r0);\n");
	text_add(c->t, "\treturn r0;\n}\n\n");
}

int clc_program(struct clc *c)
{
	const struct gpubpf_facts *facts = c->prog->facts;
	bool *target = calloc(c->prog->ninsns, sizeof(*target));
	uint32_t touched = (facts->stack + 7) / 8 * 8;
	int err = -ENOMEM;

	c->rmw_load = calloc(c->prog->ninsns, sizeof(*c->rmw_load));
	c->stack_skip = facts->frames <= 1 && touched < GPUBPF_STACK_SIZE ? GPUBPF_STACK_SIZE - touched : 0;
	if (target && c->rmw_load)
		err = emit_functions(c, target);
	if (!err)
		emit_entry(c);
	free(target);
	free(c->rmw_load);
	c->rmw_load = NULL;
	return err;
}
