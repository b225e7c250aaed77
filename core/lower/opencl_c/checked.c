/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowers a program without facts, for the conformance tool. The program becomes one function whose basic blocks are the
 * cases of a switch in a loop, so any control flow is possible. Small arrays hold the return addresses and saved
 * registers of local calls, so these calls can nest and recurse. Every taken branch decrements the budget.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "opencl_c.h"
#include "core/model/diag.h"

static void fail(struct clc *c, const char *indent, enum gpubpf_run_status status, uint32_t pc, const char *address)
{
	text_add(c->t, "%sGPUBPF_FAIL(%d, %u, %s);\n", indent, status, pc, address);
}

static void go(struct clc *c, uint32_t target)
{
	text_add(c->t, "{ pc = %u; continue; }\n", target);
}

/* Emits code that stores an access's address in the variable `a`, and ends the run if the access is out of bounds. */
static void check(struct clc *c, uint32_t pc, uint32_t reg, int32_t off, uint32_t width)
{
	text_add(c->t, "a = r%u + 0x%llxUL; if (!gpubpf_legal(&k, a, %u))", reg, (unsigned long long)(int64_t)off, width);
	fail(c, " ", GPUBPF_RUN_ACCESS, pc, "a");
	text_add(c->t, "\t\t\t");
}

static void check_aligned(struct clc *c, uint32_t pc)
{
	text_add(c->t, "if (a & %u)", c->prog->insns[pc].width - 1);
	fail(c, " ", GPUBPF_RUN_MISALIGNED, pc, "a");
	text_add(c->t, "\t\t\t");
}

static void load(struct clc *c, uint32_t pc)
{
	static const char *const sign[] = { [1] = "(u64)(s64)(char)", [2] = "(u64)(s64)(short)", [4] = "(u64)(s64)(s32)" };
	const struct gpubpf_insn *insn = &c->prog->insns[pc];

	check(c, pc, insn->src, insn->off, insn->width);
	if (insn->ordered)
		check_aligned(c, pc);
	text_add(c->t, "r%u = %sGPUBPF_GLOB(%s" CLC_MEM ", a);%s\n", insn->dst, insn->sext ? sign[insn->width] : "",
		 insn->ordered ? "volatile " : "", insn->width, insn->ordered ? insn->width : 1,
		 insn->ordered ? " gpubpf_fence();" : "");
}

static void store(struct clc *c, uint32_t pc)
{
	static const char *const type[] = { [1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64" };
	const struct gpubpf_insn *insn = &c->prog->insns[pc];
	char s[32];

	check(c, pc, insn->dst, insn->off, insn->width);
	if (insn->ordered)
		check_aligned(c, pc);
	text_add(c->t, "%sGPUBPF_GLOB(%s" CLC_MEM ", a) = (%s)%s;\n", insn->ordered ? "gpubpf_fence(); " : "",
		 insn->ordered ? "volatile " : "", insn->width, insn->ordered ? insn->width : 1, type[insn->width],
		 clc_source(insn, s));
}

static void emit_atomic(struct clc *c, uint32_t pc)
{
	const struct gpubpf_insn *insn = &c->prog->insns[pc];

	check(c, pc, insn->dst, insn->off, insn->width);
	check_aligned(c, pc);
	clc_atomic_at(c, insn, "a", NULL);
}

/* Emits code that begins to count the may_goto of a function. */
static void begin_may_goto(struct clc *c, const char *depth)
{
	for (uint32_t pc = 0; pc < c->prog->ninsns; pc++)
		if (clc_is_may_goto(&c->prog->insns[pc])) {
			text_add(c->t, "k.may_left[%s] = %d;\n\t\t\t", depth, GPUBPF_MAY_GOTO_MAX);
			return;
		}
}

static void call_local(struct clc *c, uint32_t pc)
{
	text_add(c->t, "if (k.depth + 1 >= %d)", GPUBPF_MAX_FRAMES);
	fail(c, " ", GPUBPF_RUN_DEPTH, pc, "0");
	text_add(c->t, "\t\t\tret[k.depth] = %u; save[k.depth] = (ulong4)(r6, r7, r8, r9); k.depth++; r10 += %d;\n\t\t\t",
		 pc + 1, GPUBPF_STACK_SIZE);
	begin_may_goto(c, "k.depth");
	go(c, c->prog->insns[pc].target);
}

static void emit_exit(struct clc *c, bool calls)
{
	if (!calls) {
		text_add(c->t, "return r0;\n");
		return;
	}
	text_add(c->t,
		 "if (!k.depth) return r0;\n\t\t\tk.depth--; r10 -= %d; pc = ret[k.depth];\n"
		 "\t\t\tr6 = save[k.depth].s0; r7 = save[k.depth].s1; r8 = save[k.depth].s2; r9 = save[k.depth].s3;\n"
		 "\t\t\tcontinue;\n",
		 GPUBPF_STACK_SIZE);
}

/* Emits a call of a helper that returns three numbers through pointers. */
static void emit_coordinates(struct clc *c, uint32_t pc, const struct gpubpf_helper *helper)
{
	text_add(c->t, "{ u64 x[3]; r0 = (u64)gpubpf_helper_%s(env, &x[0], &x[1], &x[2]);\n", helper->name);
	for (uint32_t i = 0; i < 3; i++) {
		text_add(c->t, "\t\t\t");
		check(c, pc, GPUBPF_R1 + i, 0, 8);
		text_add(c->t, "GPUBPF_GLOB(gpubpf_w8a1, a) = x[%u];\n", i);
	}
	text_add(c->t, "\t\t\t}\n");
}

/*
 * Emits a helper call. Without facts, a helper's arguments cannot be maps or memory, except the pointers to the three
 * results of emit_coordinates().
 */
static void call(struct clc *c, uint32_t pc)
{
	uint32_t id = (uint32_t)c->prog->insns[pc].imm;
	const struct gpubpf_helper *helper = gpubpf_helper_find(id);
	char number[16];

	snprintf(number, sizeof(number), "%uU", id);
	if (helper && helper->class == GPUBPF_CLASS_ENDS)
		text_add(c->t, "*ended = 1; return 0;\n");
	else if (helper && helper->class == GPUBPF_CLASS_ENV && helper->arg[0] == GPUBPF_ARG_U64_OUT)
		emit_coordinates(c, pc, helper);
	else if (helper && helper->class == GPUBPF_CLASS_ENV && helper->arg[0] == GPUBPF_ARG_NONE)
		text_add(c->t, "r0 = (u64)gpubpf_helper_%s(env);\n", helper->name);
	else
		fail(c, "", GPUBPF_RUN_HELPER, pc, number);
}

static int emit_insn(struct clc *c, uint32_t pc, bool calls)
{
	const struct gpubpf_insn *insn = &c->prog->insns[pc];

	switch ((enum gpubpf_insn_kind)insn->kind) {
	case GPUBPF_INSN_ALU:
		clc_alu(c, insn);
		break;
	case GPUBPF_INSN_LOAD:
		load(c, pc);
		break;
	case GPUBPF_INSN_STORE:
		store(c, pc);
		break;
	case GPUBPF_INSN_ATOMIC:
		emit_atomic(c, pc);
		break;
	case GPUBPF_INSN_JCOND:
		text_add(c->t, "if ");
		clc_condition(c, insn);
		text_add(c->t, " ");
		/* fall through */
	case GPUBPF_INSN_JUMP:
		go(c, insn->target);
		break;
	case GPUBPF_INSN_CALL:
		call(c, pc);
		break;
	case GPUBPF_INSN_CALL_LOCAL:
		call_local(c, pc);
		break;
	case GPUBPF_INSN_EXIT:
		emit_exit(c, calls);
		break;
	case GPUBPF_INSN_IMM64:
		if (insn->op == GPUBPF_IMM_MAP || insn->op == GPUBPF_IMM_MAP_VALUE)
			return gpubpf_diag_set(c->diag, GPUBPF_E_TARGET_LACKS, pc, "an unverified program cannot use maps");
		text_add(c->t, "r%u = 0x%llxUL;\n", insn->dst,
			 (unsigned long long)(insn->op == GPUBPF_IMM_FUNC ? (int64_t)insn->target : insn->imm64));
		break;
	case GPUBPF_INSN_HI:
		break;
	}
	return 0;
}

/*
 * Marks the first instructions of basic blocks: pc 0, targets of jumps and calls, and return addresses of calls.
 * Returns true if the program has local calls.
 */
static bool mark_blocks(const struct gpubpf_prog *prog, bool *begins)
{
	bool calls = false;

	begins[0] = true;
	for (uint32_t pc = 0; pc < prog->ninsns; pc++) {
		const struct gpubpf_insn *insn = &prog->insns[pc];

		if (insn->kind == GPUBPF_INSN_JUMP || insn->kind == GPUBPF_INSN_JCOND)
			begins[insn->target] = true;
		if (insn->kind == GPUBPF_INSN_CALL_LOCAL) {
			begins[insn->target] = begins[pc + 1] = true;
			calls = true;
		}
	}
	return calls;
}

static void emit_entry(struct clc *c, bool calls)
{
	struct text *t = c->t;

	text_add(t,
		 "static u64 " CLC_PROG "(GPUBPF_ENV, GPUBPF_PRIVATE s32 *ended)\n{\n\tstruct gpubpf_checked k;\n"
		 "\tu64 a = 0, r0 = 0, r1, r2, r3 = 0, r4 = 0, r5 = 0, r6 = 0, r7 = 0, r8 = 0, r9 = 0, r10;\n"
		 "\tu32 pc = 0;\n",
		 CLC_PROG_ARGS(c));
	if (calls)
		text_add(t, "\tu32 ret[%d];\n\tulong4 save[%d];\n", GPUBPF_MAX_FRAMES, GPUBPF_MAX_FRAMES);
	begin_may_goto(c, "0");
	text_add(t,
		 "\n\tk.run = env->arena + %lluUL;\n\tk.stack = k.run + %d;\n\tk.mem = k.run + %d;\n\tk.depth = 0;\n"
		 "\tk.mem_size = GPUBPF_GLOB(gpubpf_w8a8, k.run + %zu);\n"
		 "\tk.budget = GPUBPF_GLOB(gpubpf_w8a8, k.run + %zu);\n"
		 "\tr1 = k.mem;\n\tr2 = k.mem_size;\n\tr10 = k.stack + %d;\n"
		 "\tfor (;;) {\n\t\tif (!k.budget--)",
		 (unsigned long long)clc_run(c), GPUBPF_RUN_STACK, GPUBPF_RUN_MEM,
		 offsetof(struct gpubpf_run, mem_size), offsetof(struct gpubpf_run, budget), GPUBPF_STACK_SIZE);
	text_add(t, " GPUBPF_FAIL(%d, pc, 0);\n\t\tswitch (pc) {\n", GPUBPF_RUN_BUDGET);
}

int clc_checked_program(struct clc *c)
{
	bool *begins = calloc(c->prog->ninsns + 1, sizeof(*begins));
	bool calls;
	int err = 0;

	if (!begins)
		return -ENOMEM;
	calls = mark_blocks(c->prog, begins);
	emit_entry(c, calls);
	for (uint32_t pc = 0; pc < c->prog->ninsns && !err; pc++) {
		if (begins[pc])
			text_add(c->t, "\t\tcase %u:\n", pc);
		if (c->prog->insns[pc].kind == GPUBPF_INSN_HI)
			continue;
		text_add(c->t, "\t\t\t");
		err = emit_insn(c, pc, calls);
	}
	text_add(c->t, "\t\t}\n");
	fail(c, "\t\t", GPUBPF_RUN_END, c->prog->ninsns, "0");
	text_add(c->t, "\t}\n}\n\n");
	free(begins);
	return err;
}
