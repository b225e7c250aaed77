/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits the checks of the conformance tool's checked mode (core/lower/lower.h). In this mode programs have no facts,
 * and their pointers are real addresses in the arena. The emitted code compares each access with the live stack frames
 * and MEM, and each taken branch decrements a budget.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "low.h"

static LLVMValueRef run_address(struct low_prog *p, uint64_t off)
{
	struct low *l = p->l;

	return LLVMBuildAdd(l->b, p->run, low_const(l, off), "");
}

void low_check_begin(struct low_prog *p)
{
	struct low *l = p->l;
	LLVMValueRef at = low_byte_ptr(l, p->env, low_const32(l, offsetof(struct gpubpf_env, arena)));
	LLVMValueRef arena = LLVMBuildLoad2(l->b, low_int(l, 8), at, "arena");

	p->run = LLVMBuildAdd(l->b, arena, low_const(l, gpubpf_lower_run(l->job, p->index)), "run");
	p->mem = low_device_load(l, run_address(p, offsetof(struct gpubpf_run, mem_size)), 8, 8);
	p->frames = low_alloca(p, low_int(l, 8), 8, "frames");
	p->budget = low_alloca(p, low_int(l, 8), 8, "budget");
	LLVMBuildStore(l->b, low_const(l, GPUBPF_STACK_SIZE), p->frames);
	LLVMBuildStore(l->b, low_device_load(l, run_address(p, offsetof(struct gpubpf_run, budget)), 8, 8), p->budget);
}

static void report(struct low_prog *p, uint64_t member, LLVMValueRef v)
{
	low_device_store(p->l, run_address(p, member), v, 8, 8);
}

void low_check_fail(struct low_frame *f, uint32_t pc, unsigned status, LLVMValueRef address)
{
	struct low_prog *p = f->p;
	struct low *l = p->l;

	report(p, offsetof(struct gpubpf_run, status), low_const(l, status));
	report(p, offsetof(struct gpubpf_run, pc), low_const(l, pc));
	report(p, offsetof(struct gpubpf_run, address), address);
	LLVMBuildBr(l->b, p->done);
}

/* Emits a check that ends the run with `status` if cond is false. */
static void require(struct low_frame *f, uint32_t pc, LLVMValueRef cond, unsigned status, LLVMValueRef address)
{
	struct low *l = f->p->l;
	LLVMBasicBlockRef bad = low_block(f->p, "bad"), good = low_block(f->p, "good");

	LLVMBuildCondBr(l->b, cond, good, bad);
	LLVMPositionBuilderAtEnd(l->b, bad);
	low_check_fail(f, pc, status, address);
	LLVMPositionBuilderAtEnd(l->b, good);
}

/* Returns an i1: whether [address, address + width) lies within the `size` bytes at run + off. */
static LLVMValueRef emit_bounds_test(struct low_frame *f, LLVMValueRef address, unsigned width, uint64_t off,
				     LLVMValueRef size)
{
	struct low *l = f->p->l;
	LLVMValueRef from = LLVMBuildSub(l->b, address, run_address(f->p, off), "");
	LLVMValueRef last = LLVMBuildSub(l->b, size, low_const(l, width), "");
	LLVMValueRef fits = LLVMBuildICmp(l->b, LLVMIntUGE, size, low_const(l, width), "");

	return LLVMBuildAnd(l->b, fits, LLVMBuildICmp(l->b, LLVMIntULE, from, last, ""), "");
}

void low_check_access(struct low_frame *f, uint32_t pc, LLVMValueRef address, unsigned width, bool aligned)
{
	struct low *l = f->p->l;
	LLVMValueRef stack = LLVMBuildLoad2(l->b, low_int(l, 8), f->p->frames, "");
	LLVMValueRef ok = LLVMBuildOr(l->b, emit_bounds_test(f, address, width, GPUBPF_RUN_STACK, stack),
				      emit_bounds_test(f, address, width, GPUBPF_RUN_MEM, f->p->mem), "");

	require(f, pc, ok, GPUBPF_RUN_ACCESS, address);
	if (aligned) {
		LLVMValueRef low = LLVMBuildAnd(l->b, address, low_const(l, width - 1), "");

		require(f, pc, LLVMBuildIsNull(l->b, low, ""), GPUBPF_RUN_MISALIGNED, address);
	}
}

void low_check_branch(struct low_frame *f, uint32_t pc)
{
	struct low *l = f->p->l;
	LLVMValueRef left = LLVMBuildLoad2(l->b, low_int(l, 8), f->p->budget, "");

	require(f, pc, LLVMBuildIsNotNull(l->b, left, ""), GPUBPF_RUN_BUDGET, low_const(l, 0));
	LLVMBuildStore(l->b, LLVMBuildSub(l->b, left, low_const(l, 1), ""), f->p->budget);
}

void low_check_depth(struct low_frame *f, uint32_t depth)
{
	LLVMBuildStore(f->p->l->b, low_const(f->p->l, (uint64_t)(depth + 1) * GPUBPF_STACK_SIZE), f->p->frames);
}

/*
 * Calls a helper that returns three numbers through pointers. The helper gets pointers to private words; the numbers
 * are then stored at checked addresses.
 */
static void emit_coordinates(struct low_frame *f, uint32_t pc, const char *name)
{
	struct low *l = f->p->l;
	LLVMValueRef args[4] = { f->p->env }, v;

	for (unsigned i = 1; i < 4; i++)
		args[i] = low_alloca(f->p, low_int(l, 8), 8, "");
	v = low_call(l, name, args, 4);
	if (v)
		low_set(f, GPUBPF_R0, v);
	for (unsigned i = 1; i < 4; i++) {
		low_check_access(f, pc, low_get(f, i), 8, false);
		low_device_store(l, low_get(f, i), LLVMBuildLoad2(l->b, low_int(l, 8), args[i], ""), 8, 1);
	}
}

/*
 * Emits a helper call. Without facts, a helper's arguments cannot be maps or memory, except the pointers to the three
 * results of emit_coordinates().
 */
int low_check_helper(struct low_frame *f, uint32_t pc)
{
	uint32_t id = f->p->prog->insns[pc].imm;
	const struct gpubpf_helper *helper = gpubpf_helper_find(id);
	struct low *l = f->p->l;
	LLVMValueRef v;
	char name[64];

	if (helper && helper->class == GPUBPF_CLASS_ENDS) {
		LLVMBuildBr(l->b, f->p->ended);
		return 0;
	}
	if (!helper || helper->class != GPUBPF_CLASS_ENV ||
	    (helper->arg[0] != GPUBPF_ARG_NONE && helper->arg[0] != GPUBPF_ARG_U64_OUT)) {
		low_check_fail(f, pc, GPUBPF_RUN_HELPER, low_const(l, id));
		return 0;
	}
	snprintf(name, sizeof(name), "gpubpf_helper_%s", helper->name);
	if (helper->arg[0] == GPUBPF_ARG_U64_OUT) {
		emit_coordinates(f, pc, name);
		return 0;
	}
	v = low_call(l, name, &f->p->env, 1);
	if (v)
		low_set(f, GPUBPF_R0, v);
	return l->diag->code == GPUBPF_OK ? 0 : -EINVAL;
}
