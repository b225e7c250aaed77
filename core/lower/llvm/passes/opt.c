/* SPDX-License-Identifier: Apache-2.0 */
/* The passes between lowering and emission. */
#include "passes.h"

/* Casts `stack` to the stack's address space and back, so that infer-address-spaces propagates that space. */
static void cast_stack_space(struct low *l, LLVMValueRef stack)
{
	LLVMValueRef own;

	LLVMPositionBuilderBefore(l->b, LLVMGetNextInstruction(stack));
	own = LLVMBuildAddrSpaceCast(l->b, stack, LLVMPointerTypeInContext(l->ctx, l->target->stack_space), "");
	LLVMReplaceAllUsesWith(stack, LLVMBuildAddrSpaceCast(l->b, own, LLVMTypeOf(stack), ""));
	LLVMSetOperand(own, 0, stack); /* the only remaining use of the original pointer */
}

static void cast_stack_spaces(struct low *l)
{
	for (LLVMValueRef fn = LLVMGetFirstFunction(l->mod); fn; fn = LLVMGetNextFunction(fn))
		for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
			for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
				next = LLVMGetNextInstruction(i);
				if (LLVMIsAAllocaInst(i))
					cast_stack_space(l, i);
			}
}

/*
 * clang has optimized the program, and the build has optimized the library. These passes optimize across both. They
 * take a quarter of the time of default<O2> and generate code of the same size (tests/lower).
 */
static const char inline_and_fold[] =
	"always-inline,globaldce,function(sroa,sccp,simplifycfg,loop(loop-unroll-full),sroa,infer-alignment,"
	"early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";

/*
 * Merges a look-up's branch and the program's NULL test into one branch. jump-threading skips targets with divergent
 * branches, so the pass builder gets no target machine. jump-threading never copies a convergent operation, and PTX
 * (sm_70 and later) requires no structured control flow.
 */
static const char past_tests[] = "function(jump-threading,instcombine<no-verify-fixpoint>,simplifycfg)";

/*
 * Recognizes a population count in the form that clang emits. Must run before instcombine, which destroys that form
 * where it knows some bits to be 0.
 */
static const char counted[] = "always-inline,function(sroa,simplifycfg,aggressive-instcombine)";

int low_optimise(struct low *l, LLVMTargetMachineRef machine)
{
	int level = l->opts->opt_level, err = 0;

	if (l->target->counts_bits && level > 0)
		err = low_run_passes(l, machine, counted);
	if (!err)
		err = low_run_passes(l, machine,
				     level <= 0 ? "always-inline,globaldce" :
				     level < 3  ? inline_and_fold :
						  "default<O3>");
	if (!err && l->target->thread_jumps && level > 0)
		err = low_run_passes(l, NULL, past_tests);
	if (!err)
		err = low_combine_adds(l);
	if (!err && l->target->stack_space) {
		cast_stack_spaces(l);
		err = low_run_passes(l, machine, "function(infer-address-spaces)");
	}
	if (!err && l->target->no_memory && level > 0)
		err = low_promote_arrays(l);
	if (!err && l->target->passes)
		err = low_run_passes(l, machine, l->target->passes);
	low_expand_overflows(l);
	if (!err && l->target->only_byte_widths)
		err = low_legalize_widths(l);
	if (!err && l->target->optimised)
		l->target->optimised(l);
	return err;
}
