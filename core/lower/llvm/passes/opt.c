/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the passes on the linked module, before code is emitted. */
#include "passes.h"

/*
 * Casts the pointer `stack` to the stack's address space and back, so that the pass infer-address-spaces uses that
 * space for all accesses.
 */
static void cast_stack_space(struct low *l, LLVMValueRef stack)
{
	LLVMValueRef own;

	LLVMPositionBuilderBefore(l->b, LLVMGetNextInstruction(stack));
	own = LLVMBuildAddrSpaceCast(l->b, stack, LLVMPointerTypeInContext(l->ctx, l->target->stack_space), "");
	LLVMReplaceAllUsesWith(stack, LLVMBuildAddrSpaceCast(l->b, own, LLVMTypeOf(stack), ""));
	LLVMSetOperand(own, 0, stack); /* the cast itself must use the original pointer */
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
 * clang has optimized the program, and the build has optimized the library, so these passes only optimize across both.
 * They take a quarter of the time of default<O2> and generate code of the same size (tests/core/lower).
 */
static const char inline_and_fold[] =
	"always-inline,globaldce,function(sroa,sccp,simplifycfg,loop(loop-unroll-full),sroa,infer-alignment,"
	"early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";

/*
 * Merges a look-up's own branch and the program's test against NULL into one branch. The pass jump-threading skips
 * divergent branches, so it runs without a target machine, which would know them. This is safe: jump-threading never
 * copies a convergent operation, and PTX for sm_70 and later requires no structured control flow.
 */
static const char past_tests[] = "function(jump-threading,instcombine<no-verify-fixpoint>,simplifycfg)";

/*
 * Recognizes the instructions to which clang compiles a population count. These passes must run before instcombine,
 * which changes the instructions if it knows that some bits are 0.
 */
static const char counted[] = "always-inline,function(sroa,simplifycfg,aggressive-instcombine)";

static int count_bits(struct low *l, LLVMTargetMachineRef machine)
{
	return l->target->counts_bits && l->opts->opt_level > 0 ? low_run_passes(l, machine, counted) : 0;
}

static int inline_all(struct low *l, LLVMTargetMachineRef machine)
{
	int level = l->opts->opt_level;

	return low_run_passes(l, machine,
			      level <= 0 ? "always-inline,globaldce" :
			      level < 3  ? inline_and_fold :
					   "default<O3>");
}

static int thread_jumps(struct low *l, LLVMTargetMachineRef machine)
{
	return l->target->thread_jumps && l->opts->opt_level > 0 ? low_run_passes(l, NULL, past_tests) : 0;
}

static int combine_adds(struct low *l, LLVMTargetMachineRef machine)
{
	return low_combine_adds(l);
}

static int move_stack(struct low *l, LLVMTargetMachineRef machine)
{
	if (!l->target->stack_space)
		return 0;
	cast_stack_spaces(l);
	return low_run_passes(l, machine, "function(infer-address-spaces)");
}

static int promote_arrays(struct low *l, LLVMTargetMachineRef machine)
{
	return l->target->no_memory && l->opts->opt_level > 0 ? low_promote_arrays(l) : 0;
}

static int run_target_passes(struct low *l, LLVMTargetMachineRef machine)
{
	return l->target->passes ? low_run_passes(l, machine, l->target->passes) : 0;
}

static int expand_overflows(struct low *l, LLVMTargetMachineRef machine)
{
	low_expand_overflows(l);
	return 0;
}

static int legalize_widths(struct low *l, LLVMTargetMachineRef machine)
{
	return l->target->only_byte_widths ? low_legalize_widths(l) : 0;
}

static int finish_module(struct low *l, LLVMTargetMachineRef machine)
{
	if (l->target->optimised)
		l->target->optimised(l);
	return 0;
}

int low_optimise(struct low *l, LLVMTargetMachineRef machine)
{
	/* in the order in which they run; core/model/passes.def describes the passes */
	static const struct {
		const char *name;
		int (*run)(struct low *l, LLVMTargetMachineRef machine);
	} passes[] = {
		{ "count-bits", count_bits },           { "inline", inline_all },
		{ "thread-jumps", thread_jumps },       { "combine-adds", combine_adds },
		{ "stack-space", move_stack },          { "promote-arrays", promote_arrays },
		{ "target-passes", run_target_passes }, { "expand-overflows", expand_overflows },
		{ "legalize-widths", legalize_widths }, { "finish-module", finish_module },
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(passes) / sizeof(passes[0]); i++) {
		err = passes[i].run(l, machine);
		if (!err)
			low_dump(l, passes[i].name);
	}
	return err;
}
