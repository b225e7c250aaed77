/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: answers "does this branch diverge?" from the lanes on this lane's own side.
 * Before: low_branch_taken_mask() left a call for the mask of lanes that take the branch.
 * After: tests for divergence compare %gpubpf_side with the active mask; other uses read the taken mask.
 * Requires: the passes that join both comparisons into one condition have run.
 *
 * A branch diverges if some but not all active lanes take it: lanes && lanes != active. Equivalently, the lanes on this
 * lane's side, which include it, are not all active lanes. That mask is cheaper to compute. The injector declares
 * %gpubpf_side, the lanes that go this lane's way, at each place that reads it.
 */
#include "passes.h"

#define TAKEN_MASK_CALL "gpubpf_taking"

LLVMValueRef low_branch_taken_mask(struct low *l, LLVMValueRef lanes, LLVMValueRef active)
{
	LLVMTypeRef i64 = low_int(l, 8), params[] = { i64, i64 }, type = LLVMFunctionType(i64, params, 2, false);
	LLVMValueRef fn = LLVMGetNamedFunction(l->mod, TAKEN_MASK_CALL), args[] = { lanes, active };

	if (!fn) {
		fn = LLVMAddFunction(l->mod, TAKEN_MASK_CALL, type);
		low_attribute(l, fn, LLVMAttributeFunctionIndex, "memory"); /* the function accesses no memory */
		low_attribute(l, fn, LLVMAttributeFunctionIndex, "nounwind");
		low_attribute(l, fn, LLVMAttributeFunctionIndex, "willreturn");
	}
	return LLVMBuildCall2(l->b, type, fn, args, 2, "");
}

/* Does v compare the call's result with `other` by `predicate`? `other` NULL: with 0. */
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

/* Is v the conjunction of two conditions or, with `either`, their disjunction? Stores both. */
static bool split_condition(LLVMValueRef v, bool either, LLVMValueRef both[2])
{
	int other = either ? 1 : 2; /* the operand that the select returns for a false (either) or true first
				     * condition */

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

/* Is v true if the branch diverges or, with `uniform`, if it does not? */
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
 * Replaces each user of the comparison that tests for divergence, that is, joins it with another comparison of the
 * call's result.
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
