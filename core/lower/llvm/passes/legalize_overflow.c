/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: expands overflow checks of sums, differences and products into ordinary instructions.
 * Before: LLVM's passes have run.
 * After: no call of llvm.*.with.overflow is left whose two results are used separately. For SPIR-V this holds for
 * integers of any width, for other targets for integers of fewer than 32 bits.
 * Requires: nothing.
 *
 * LLVM recognizes such checks, for example `x > UINT64_MAX / y`, and emits llvm.umul.with.overflow or one of five
 * similar intrinsics. The backends do not lower all of them correctly:
 *
 * - LLVM 22's SPIR-V backend emits OpUMulExtended, OpIAddCarry and others. Intel's runtime cannot read back its own
 *   output for OpUMulExtended.
 *
 * - For a signed product the SPIR-V backend takes the overflow from the upper half, which is wrong. It cannot lower
 *   signed sums.
 *
 * - For bytes in PTX, LLVM emits a 16-bit comparison. The assembler ptxas 13.0 evaluates it incorrectly if loop
 *   unrolling makes the sum a negative constant.
 */
#include <string.h>

#include "passes.h"

static const struct overflow {
	const char *name;
	LLVMOpcode op;
	bool is_signed;
} overflows[] = {
	{ "llvm.uadd.with.overflow", LLVMAdd, false }, { "llvm.usub.with.overflow", LLVMSub, false },
	{ "llvm.umul.with.overflow", LLVMMul, false }, { "llvm.sadd.with.overflow", LLVMAdd, true },
	{ "llvm.ssub.with.overflow", LLVMSub, true },  { "llvm.smul.with.overflow", LLVMMul, true },
};

static const struct overflow *overflow_of(struct low *l, LLVMValueRef insn)
{
	LLVMValueRef fn = LLVMIsACallInst(insn) ? LLVMGetCalledValue(insn) : NULL;
	unsigned id = fn && LLVMIsAFunction(fn) ? LLVMGetIntrinsicID(fn) : 0;

	for (size_t i = 0; id && i < sizeof(overflows) / sizeof(overflows[0]); i++)
		if (id == LLVMLookupIntrinsicID(overflows[i].name, strlen(overflows[i].name)))
			return l->target->only_byte_widths ||
					       LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(insn, 0))) < 32 ?
				       &overflows[i] :
				       NULL;
	return NULL;
}

/*
 * Returns an i1: whether a signed sum or difference v overflows. A sum overflows if its sign differs from the signs of
 * both operands. A difference overflows if the operands' signs differ and its sign differs from that of x.
 */
static LLVMValueRef sign_overflows(struct low *l, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y, LLVMValueRef v)
{
	LLVMValueRef one = LLVMBuildXor(l->b, x, op == LLVMAdd ? v : y, "");
	LLVMValueRef both = LLVMBuildAnd(l->b, one, LLVMBuildXor(l->b, op == LLVMAdd ? y : x, v, ""), "");

	return LLVMBuildICmp(l->b, LLVMIntSLT, both, LLVMConstNull(LLVMTypeOf(v)), "");
}

/*
 * Returns an i1: whether the product v overflows, that is, whether v / x is not y. A division by 0 is avoided, and so
 * is a division of the least number by -1.
 */
static LLVMValueRef product_overflows(struct low *l, bool is_signed, LLVMValueRef x, LLVMValueRef y, LLVMValueRef v)
{
	LLVMTypeRef type = LLVMTypeOf(v);
	LLVMValueRef none = LLVMBuildICmp(l->b, LLVMIntEQ, x, LLVMConstNull(type), "");
	LLVMValueRef minus = LLVMBuildICmp(l->b, LLVMIntEQ, x, LLVMConstAllOnes(type), "");
	LLVMValueRef least = LLVMConstInt(type, 1ull << (LLVMGetIntTypeWidth(type) - 1), false);
	LLVMValueRef by = LLVMBuildSelect(l->b, is_signed ? LLVMBuildOr(l->b, none, minus, "") : none,
					  LLVMConstInt(type, 1, false), x, "");
	LLVMValueRef back = is_signed ? LLVMBuildSDiv(l->b, v, by, "") : LLVMBuildUDiv(l->b, v, by, "");
	LLVMValueRef over = LLVMBuildAnd(l->b, LLVMBuildNot(l->b, none, ""),
					 LLVMBuildICmp(l->b, LLVMIntNE, back, y, ""), "");

	if (!is_signed)
		return over;
	return LLVMBuildSelect(l->b, minus, LLVMBuildICmp(l->b, LLVMIntEQ, y, least, ""), over, "");
}

static LLVMValueRef is_over(struct low *l, const struct overflow *o, LLVMValueRef x, LLVMValueRef y, LLVMValueRef v)
{
	if (o->op == LLVMMul)
		return product_overflows(l, o->is_signed, x, y, v);
	if (o->is_signed)
		return sign_overflows(l, o->op, x, y, v);
	return LLVMBuildICmp(l->b, LLVMIntULT, o->op == LLVMAdd ? v : x, o->op == LLVMAdd ? x : y, "");
}

/* Replaces the instructions that extract the call's sum or flag. Erases the call if it has no other use. */
static void expand(struct low *l, const struct overflow *o, LLVMValueRef call)
{
	LLVMValueRef x = LLVMGetOperand(call, 0), y = LLVMGetOperand(call, 1), v, over, user;
	LLVMUseRef next;

	LLVMPositionBuilderBefore(l->b, call);
	v = LLVMBuildBinOp(l->b, o->op, x, y, "");
	over = is_over(l, o, x, y, v);
	for (LLVMUseRef use = LLVMGetFirstUse(call); use; use = next) {
		next = LLVMGetNextUse(use);
		user = LLVMGetUser(use);
		if (!LLVMIsAExtractValueInst(user))
			continue;
		LLVMReplaceAllUsesWith(user, *LLVMGetIndices(user) ? over : v);
		LLVMInstructionEraseFromParent(user);
	}
	if (!LLVMGetFirstUse(call))
		LLVMInstructionEraseFromParent(call);
}

void low_expand_overflows(struct low *l)
{
	for (LLVMValueRef fn = LLVMGetFirstFunction(l->mod); fn; fn = LLVMGetNextFunction(fn))
		for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
			for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
				const struct overflow *o = overflow_of(l, i);

				/* skip the extractvalues of this call that follow it, because expand() erases them */
				next = LLVMGetNextInstruction(i);
				while (o && next && LLVMIsAExtractValueInst(next) && LLVMGetOperand(next, 0) == i)
					next = LLVMGetNextInstruction(next);
				if (o)
					expand(l, o, i);
			}
}
