/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: simplifies tests whether the lanes of a warp diverge at a branch.
 * Before: low_branch_taken_mask() left a call that returns the mask of the lanes that take the branch.
 * After: a test for divergence compares %gpubpf_side with the active mask. Other uses of the call read the mask of the
 * lanes that take the branch.
 * Requires: the passes that join both comparisons of such a test into one condition have run.
 *
 * A branch diverges if some but not all active lanes take it: lanes && lanes != active. Each lane can test this in
 * another way: the lanes that branch in its direction are not all active lanes. The mask of those lanes, %gpubpf_side,
 * is cheaper to compute. The injector declares it at each place that reads it.
 */
#include "passes.h"

#define TAKEN_MASK_CALL "gpubpf_taking"

LLVMValueRef low_branch_taken_mask(struct low *l, LLVMValueRef lanes, LLVMValueRef active)
{
	LLVMTypeRef i64 = low_int(l, 8), params[] = { i64, i64 }, type = LLVMFunctionType(i64, params, 2, false);
	LLVMValueRef fn = LLVMGetNamedFunction(l->mod, TAKEN_MASK_CALL), args[] = { lanes, active };

	if (!fn) {
		fn = LLVMAddFunction(l->mod, TAKEN_MASK_CALL, type);
		/* with value 0: the function accesses no memory */
		low_attribute(l, fn, LLVMAttributeFunctionIndex, "memory");
		low_attribute(l, fn, LLVMAttributeFunctionIndex, "nounwind");
		low_attribute(l, fn, LLVMAttributeFunctionIndex, "willreturn");
	}
	return LLVMBuildCall2(l->b, type, fn, args, 2, "");
}

/* Returns true if v compares the call's result with `other`, or with 0 if `other` is NULL, by `predicate`. */
static bool compares(LLVMValueRef v, LLVMIntPredicate predicate, LLVMValueRef call, LLVMValueRef other)
{
	LLVMValueRef a, b;

	if (!LLVMIsAICmpInst(v) || LLVMGetICmpPredicate(v) != predicate)
		return false;
	a = LLVMGetOperand(v, 0);
	b = LLVMGetOperand(v, 1);
	if (b == call) {
		b = a;
		a = call;
	}
	return a == call && (other ? b == other : LLVMIsAConstantInt(b) && LLVMIsNull(b));
}

/*
 * Returns true if v is the conjunction of two conditions or, if `either`, their disjunction. Stores the conditions in
 * both[].
 */
static bool split_condition(LLVMValueRef v, bool either, LLVMValueRef both[2])
{
	/* index of the constant operand: "select c, true, d" is a disjunction, "select c, d, false" a conjunction */
	int other = either ? 1 : 2;

	if (LLVMIsABinaryOperator(v) && LLVMGetInstructionOpcode(v) == (either ? LLVMOr : LLVMAnd)) {
		both[0] = LLVMGetOperand(v, 0);
		both[1] = LLVMGetOperand(v, 1);
		return true;
	}
	if (!LLVMIsASelectInst(v) || !LLVMIsAConstantInt(LLVMGetOperand(v, other)) ||
	    LLVMIsNull(LLVMGetOperand(v, other)) == either)
		return false;
	both[0] = LLVMGetOperand(v, 0);
	both[1] = LLVMGetOperand(v, 3 - other);
	return true;
}

/* Returns true if v tests that the branch diverges or, if `uniform`, that it does not diverge. */
static bool tests_divergence(LLVMValueRef v, LLVMValueRef call, bool uniform)
{
	LLVMIntPredicate predicate = uniform ? LLVMIntEQ : LLVMIntNE;
	LLVMValueRef active = LLVMGetOperand(call, 1), both[2];

	if (!split_condition(v, uniform, both))
		return false;
	for (int i = 0; i < 2; i++)
		if (compares(both[i], predicate, call, NULL) && compares(both[1 - i], predicate, call, active))
			return true;
	return false;
}

static void replace_test(struct low *l, LLVMValueRef test, LLVMValueRef call, bool uniform)
{
	LLVMValueRef side, active = LLVMGetOperand(call, 1);

	LLVMPositionBuilderBefore(l->b, test);
	side = low_read_register(l, "%gpubpf_side", 4);
	active = LLVMBuildTrunc(l->b, active, l->i32, "");
	LLVMReplaceAllUsesWith(test, LLVMBuildICmp(l->b, uniform ? LLVMIntEQ : LLVMIntNE, side, active, ""));
}

/*
 * Replaces each test for divergence that uses the comparison, that is, each condition that joins it with another
 * comparison of the call's result.
 */
static void replace_tests(struct low *l, LLVMValueRef compare, LLVMValueRef call)
{
	for (LLVMUseRef use = LLVMGetFirstUse(compare), next; use; use = next) {
		LLVMValueRef user = LLVMGetUser(use);

		next = LLVMGetNextUse(use);
		for (int uniform = 0; uniform < 2; uniform++)
			if (tests_divergence(user, call, uniform))
				replace_test(l, user, call, uniform);
	}
}

bool low_resolve_taken_masks(struct low *l)
{
	LLVMValueRef fn = LLVMGetNamedFunction(l->mod, TAKEN_MASK_CALL), call;

	if (!fn)
		return false;
	while (LLVMGetFirstUse(fn)) {
		call = LLVMGetUser(LLVMGetFirstUse(fn));
		for (LLVMUseRef use = LLVMGetFirstUse(call); use; use = LLVMGetNextUse(use))
			if (LLVMIsAICmpInst(LLVMGetUser(use)))
				replace_tests(l, LLVMGetUser(use), call);
		LLVMReplaceAllUsesWith(call, LLVMGetOperand(call, 0));
		LLVMInstructionEraseFromParent(call);
	}
	LLVMDeleteFunction(fn);
	return true;
}
