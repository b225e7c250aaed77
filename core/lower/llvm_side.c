/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do lanes part at a branch? Those who take it are some, and not all who came: lanes && lanes != active. So are then those who go
 * this lane's way, of whom it is one, whichever way that is; and who they are costs less to find. low_taking() leaves a call for the lanes,
 * which low_taking_now() answers when LLVM has put both comparisons into one place: there by %gpubpf_side, which the injector
 * declares at each place that has it, the lanes that go the way of this one; elsewhere by the lanes.
 */
#include "llvm_low.h"

#define ASKS "gpubpf_taking"

LLVMValueRef low_taking(struct low *l, LLVMValueRef lanes, LLVMValueRef active)
{
	LLVMTypeRef i64 = low_int(l, 8), params[] = { i64, i64 }, type = LLVMFunctionType(i64, params, 2, false);
	LLVMValueRef fn = LLVMGetNamedFunction(l->mod, ASKS), args[] = { lanes, active };

	if (!fn) {
		fn = LLVMAddFunction(l->mod, ASKS, type);
		low_attribute(l, fn, LLVMAttributeFunctionIndex, "memory"); /* none */
		low_attribute(l, fn, LLVMAttributeFunctionIndex, "nounwind");
		low_attribute(l, fn, LLVMAttributeFunctionIndex, "willreturn");
	}
	return LLVMBuildCall2(l->b, type, fn, args, 2, "");
}

/* Is it a comparison by `predicate` of the lanes that the call gives with `other`, NULL: with none? */
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

/* Both of what v says must hold, or, with `either`, one of them; false: it says something else. */
static bool are_joined(LLVMValueRef v, bool either, LLVMValueRef both[2])
{
	int other = either ? 1 : 2; /* of a select, where the first does not hold, or does */

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

/* Is v true where lanes part, or, with `together`, where they do not? */
static bool asks_parted(LLVMValueRef v, LLVMValueRef call, bool together)
{
	LLVMIntPredicate predicate = together ? LLVMIntEQ : LLVMIntNE;
	LLVMValueRef active = LLVMGetOperand(call, 1), both[2];

	if (!are_joined(v, together, both))
		return false;
	for (int i = 0; i < 2; i++)
		if (compares(both[i], predicate, call, NULL) && compares(both[1 - i], predicate, call, active))
			return true;
	return false;
}

static void answer(struct low *l, LLVMValueRef asks, LLVMValueRef call, bool together)
{
	LLVMValueRef side, active = LLVMGetOperand(call, 1);

	LLVMPositionBuilderBefore(l->b, asks);
	side = low_read_register(l, "%gpubpf_side", 4);
	active = LLVMBuildTrunc(l->b, active, l->i32, "");
	LLVMReplaceAllUsesWith(asks, LLVMBuildICmp(l->b, together ? LLVMIntEQ : LLVMIntNE, side, active, ""));
}

/* What joins two comparisons uses both of them, and each uses the call. */
static void answer_users(struct low *l, LLVMValueRef compare, LLVMValueRef call)
{
	for (LLVMUseRef use = LLVMGetFirstUse(compare), next; use; use = next) {
		LLVMValueRef user = LLVMGetUser(use);

		next = LLVMGetNextUse(use);
		for (int together = 0; together < 2; together++)
			if (asks_parted(user, call, together))
				answer(l, user, call, together);
	}
}

bool low_taking_now(struct low *l)
{
	LLVMValueRef fn = LLVMGetNamedFunction(l->mod, ASKS), call;

	if (!fn)
		return false;
	while (LLVMGetFirstUse(fn)) {
		call = LLVMGetUser(LLVMGetFirstUse(fn));
		for (LLVMUseRef use = LLVMGetFirstUse(call); use; use = LLVMGetNextUse(use))
			if (LLVMIsAICmpInst(LLVMGetUser(use)))
				answer_users(l, LLVMGetUser(use), call);
		LLVMReplaceAllUsesWith(call, LLVMGetOperand(call, 0));
		LLVMInstructionEraseFromParent(call);
	}
	LLVMDeleteFunction(fn);
	return true;
}
