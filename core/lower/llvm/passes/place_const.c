/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: decides whether a value is a constant in a place's text, such as the number of bytes that an instruction
 * accesses.
 * Before: low_is_place_const() left a call with the value as argument.
 * After: the call is replaced by %gpubpf_told, or by 0 if the value is not a constant at any place.
 * Requires: the passes that expose a value's operands have run.
 *
 * A constant in a place's text is the same in all lanes. The injector declares %gpubpf_told at each place. It is 1 if
 * the place's text contains the value as a constant, and 0 if the value is in a register.
 */
#include <string.h>

#include "passes.h"

#define PLACE_CONST_CALL "gpubpf_is_told"
#define MAX_DEPTH 8 /* largest depth of the search through a value's operands */

static unsigned mark(const struct low *l)
{
	return LLVMGetMDKindIDInContext(l->ctx, "gpubpf.told", 11);
}

void low_mark_place_const(struct low *l, LLVMValueRef given)
{
	LLVMSetMetadata(given, mark(l), LLVMMetadataAsValue(l->ctx, LLVMMDNodeInContext2(l->ctx, NULL, 0)));
}

LLVMValueRef low_is_place_const(struct low_frame *f, LLVMValueRef v)
{
	struct low *l = f->p->l;
	LLVMTypeRef i64 = low_int(l, 8), type = LLVMFunctionType(l->i32, &i64, 1, false);
	LLVMValueRef fn;

	if (!low_has_registers(f->p))
		return NULL;
	fn = LLVMGetNamedFunction(l->mod, PLACE_CONST_CALL);
	if (!fn)
		fn = LLVMAddFunction(l->mod, PLACE_CONST_CALL, type);
	return LLVMBuildCall2(l->b, type, fn, &v, 1, "");
}

static bool is_place_const(const struct low *l, LLVMValueRef v, int steps)
{
	if (LLVMIsAConstantInt(v))
		return true;
	if (!LLVMIsAInstruction(v) || steps == MAX_DEPTH)
		return false;
	if (LLVMIsACallInst(v))
		return LLVMGetMetadata(v, mark(l));
	if (!LLVMIsACastInst(v) && !LLVMIsABinaryOperator(v) && !LLVMIsASelectInst(v) && !LLVMIsAICmpInst(v))
		return false;
	for (int i = 0; i < LLVMGetNumOperands(v); i++)
		if (!is_place_const(l, LLVMGetOperand(v, i), steps + 1))
			return false;
	return true;
}

bool low_resolve_place_consts(struct low *l)
{
	LLVMValueRef fn = LLVMGetNamedFunction(l->mod, PLACE_CONST_CALL), call, result;

	if (!fn)
		return false;
	while (LLVMGetFirstUse(fn)) {
		call = LLVMGetUser(LLVMGetFirstUse(fn));
		LLVMPositionBuilderBefore(l->b, call);
		result = is_place_const(l, LLVMGetOperand(call, 0), 0) ? low_read_register(l, "%gpubpf_told", 4) :
									 low_const32(l, 0);
		if (LLVMIsACallInst(result))
			low_mark_uniform(l, result);
		LLVMReplaceAllUsesWith(call, result);
		LLVMInstructionEraseFromParent(call);
	}
	LLVMDeleteFunction(fn);
	return true;
}
