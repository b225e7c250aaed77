/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a sum, a difference or a product is too large for its width, told by plain instructions. LLVM recognises such
 * tests (`x > UINT64_MAX / y`) and makes llvm.umul.with.overflow and its five like of them, for which LLVM 22's SPIR-V has
 * OpUMulExtended, OpIAddCarry and others: Intel's runtime cannot read back what it makes of the first, a signed product is
 * told wrong by its upper half, and of signed sums there is none at all. And of bytes in PTX it makes a comparison of 16
 * bits, which ptxas 13.0 tells wrong of negative sums that it knows when it has unrolled a loop.
 *
 * Before: as LLVM's passes leave it. After: no llvm.*.with.overflow whose two results are used one by one, in SPIR-V of any
 * width, else of less than 32 bits.
 */
#include <string.h>

#include "llvm_low.h"

static const struct overflow {
	const char *name;
	LLVMOpcode op;
	bool is_signed;
} overflows[] = {
	{ "llvm.uadd.with.overflow", LLVMAdd, false },
	{ "llvm.usub.with.overflow", LLVMSub, false },
	{ "llvm.umul.with.overflow", LLVMMul, false },
	{ "llvm.sadd.with.overflow", LLVMAdd, true },
	{ "llvm.ssub.with.overflow", LLVMSub, true },
	{ "llvm.smul.with.overflow", LLVMMul, true },
};

static const struct overflow *overflow_of(struct low *l, LLVMValueRef insn)
{
	LLVMValueRef fn = LLVMIsACallInst(insn) ? LLVMGetCalledValue(insn) : NULL;
	unsigned id = fn && LLVMIsAFunction(fn) ? LLVMGetIntrinsicID(fn) : 0;

	for (size_t i = 0; id && i < sizeof(overflows) / sizeof(overflows[0]); i++)
		if (id == LLVMLookupIntrinsicID(overflows[i].name, strlen(overflows[i].name)))
			return l->target->few_widths || LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(insn, 0))) < 32 ?
			       &overflows[i] : NULL;
	return NULL;
}

/* The sum has another sign than both numbers have; the difference, than the first one, which has another than the second. */
static LLVMValueRef sign_turns(struct low *l, LLVMOpcode op, LLVMValueRef x, LLVMValueRef y, LLVMValueRef v)
{
	LLVMValueRef one = LLVMBuildXor(l->b, x, op == LLVMAdd ? v : y, "");
	LLVMValueRef both = LLVMBuildAnd(l->b, one, LLVMBuildXor(l->b, op == LLVMAdd ? y : x, v, ""), "");

	return LLVMBuildICmp(l->b, LLVMIntSLT, both, LLVMConstNull(LLVMTypeOf(v)), "");
}

/* Divided by x, the product is not y. By 0 nothing is divided, and by -1 not the least number: those are told apart. */
static LLVMValueRef not_divided_back(struct low *l, bool is_signed, LLVMValueRef x, LLVMValueRef y, LLVMValueRef v)
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
		return not_divided_back(l, o->is_signed, x, y, v);
	if (o->is_signed)
		return sign_turns(l, o->op, x, y, v);
	return LLVMBuildICmp(l->b, LLVMIntULT, o->op == LLVMAdd ? v : x, o->op == LLVMAdd ? x : y, "");
}

/* each use that takes one of both results; the call goes with the last one */
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

void low_overflows(struct low *l)
{
	for (LLVMValueRef fn = LLVMGetFirstFunction(l->mod); fn; fn = LLVMGetNextFunction(fn))
		for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
			for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
				const struct overflow *o = overflow_of(l, i);

				/* the next one may be an extractvalue of this very call: looked for again behind the call */
				next = LLVMGetNextInstruction(i);
				while (o && next && LLVMIsAExtractValueInst(next) && LLVMGetOperand(next, 0) == i)
					next = LLVMGetNextInstruction(next);
				if (o)
					expand(l, o, i);
			}
}
