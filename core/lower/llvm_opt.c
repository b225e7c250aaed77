/* SPDX-License-Identifier: Apache-2.0 */
/* What LLVM does to the module between the lowering and the emission. */
#include <errno.h>

#include <llvm-c/Transforms/PassBuilder.h>

#include "llvm_low.h"

int low_run_passes(struct low *l, LLVMTargetMachineRef machine, const char *passes)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error;
	char *text;

	/* a probe has nothing to gain from wide vectors, and SPIR-V has few */
	LLVMPassBuilderOptionsSetLoopVectorization(options, false);
	LLVMPassBuilderOptionsSetSLPVectorization(options, false);
	LLVMPassBuilderOptionsSetLoopInterleaving(options, false);
	error = LLVMRunPasses(l->mod, passes, machine, options);
	LLVMDisposePassBuilderOptions(options);
	if (!error)
		return 0;
	text = LLVMGetErrorMessage(error);
	gpubpf_diag_set(l->diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "LLVM for %s, optimising: %s", l->target->name, text);
	LLVMDisposeErrorMessage(text);
	return -EINVAL;
}

/* `stack` through an address of the stack's own space, from which infer-address-spaces goes on */
static void say_space(struct low *l, LLVMValueRef stack)
{
	LLVMValueRef own;

	LLVMPositionBuilderBefore(l->b, LLVMGetNextInstruction(stack));
	own = LLVMBuildAddrSpaceCast(l->b, stack, LLVMPointerTypeInContext(l->ctx, l->target->stack_space), "");
	LLVMReplaceAllUsesWith(stack, LLVMBuildAddrSpaceCast(l->b, own, LLVMTypeOf(stack), ""));
	LLVMSetOperand(own, 0, stack); /* the only use of the pointer as it was */
}

static void say_spaces(struct low *l)
{
	for (LLVMValueRef fn = LLVMGetFirstFunction(l->mod); fn; fn = LLVMGetNextFunction(fn))
		for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
			for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
				next = LLVMGetNextInstruction(i);
				if (LLVMIsAAllocaInst(i))
					say_space(l, i);
			}
}

/*
 * clang optimised the program and the build the library: what is left is to put both together. This takes
 * a quarter of the time of default<O2> and makes code of the same size (tests/lower).
 */
static const char inline_and_fold[] =
	"always-inline,globaldce,function(sroa,sccp,simplifycfg,loop(loop-unroll-full),sroa,infer-alignment,"
	"early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";

/*
 * What a look-up gave and its test against NULL become one branch. jump-threading does nothing for a machine whose
 * branches diverge, so none is named; it copies no convergent operation in any case, and PTX (sm_70 and later) asks
 * for no structure.
 */
static const char past_tests[] = "function(jump-threading,instcombine<no-verify-fixpoint>,simplifycfg)";

/* A count of bits is recognised as clang wrote it, which instcombine does not leave so where it knows some bits to be 0. */
static const char counted[] = "always-inline,function(sroa,simplifycfg,aggressive-instcombine)";

int low_optimise(struct low *l, LLVMTargetMachineRef machine)
{
	int level = l->opts->opt_level, err = 0;

	if (l->target->counts_bits && level > 0)
		err = low_run_passes(l, machine, counted);
	if (!err)
		err = low_run_passes(l, machine, level <= 0 ? "always-inline,globaldce" : level < 3 ? inline_and_fold :
				     "default<O3>");
	if (!err && l->target->thread_jumps && level > 0)
		err = low_run_passes(l, NULL, past_tests);
	if (!err)
		err = low_add_now(l);
	if (!err && l->target->stack_space) {
		say_spaces(l);
		err = low_run_passes(l, machine, "function(infer-address-spaces)");
	}
	if (!err && l->target->no_memory && level > 0)
		err = low_words(l);
	if (!err && l->target->passes)
		err = low_run_passes(l, machine, l->target->passes);
	low_overflows(l);
	if (!err && l->target->few_widths)
		err = low_widths(l);
	if (!err && l->target->optimised)
		l->target->optimised(l);
	return err;
}
