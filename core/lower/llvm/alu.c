/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits arithmetic (RFC 9669 4.1, 4.2) and conditions (4.3). LLVM does not define division by zero, INT_MIN / -1 and
 * shifts beyond the width, but eBPF does. So the emitted code never passes such operands to LLVM's instructions.
 */
#include "low.h"

LLVMValueRef low_source(struct low_frame *f, const struct gpubpf_insn *insn)
{
	return insn->reg ? low_get(f, insn->src) : low_const(f->p->l, (int64_t)insn->imm);
}

static LLVMValueRef cut(struct low *l, LLVMValueRef v, unsigned bytes)
{
	return bytes == 8 ? v : LLVMBuildTrunc(l->b, v, low_int(l, bytes), "");
}

static LLVMValueRef widen(struct low *l, LLVMValueRef v)
{
	return LLVMBuildZExt(l->b, v, low_int(l, 8), "");
}

static LLVMValueRef shift_by(struct low *l, LLVMValueRef s, unsigned width)
{
	return LLVMBuildAnd(l->b, s, LLVMConstInt(low_int(l, width), width * 8 - 1, false), "");
}

/* Emits n op d, where d is not 0 and, for a signed op, not -1. */
static LLVMValueRef divide_by(struct low *l, LLVMOpcode op, LLVMValueRef n, LLVMValueRef d)
{
	bool minus = op == LLVMSDiv || op == LLVMSRem;
	LLVMTypeRef type = LLVMTypeOf(n), wide = low_int(l, 8);
	const char *name = op == LLVMUDiv ? "gpubpf_divide_u64" :
			   op == LLVMURem ? "gpubpf_rest_u64" :
			   op == LLVMSDiv ? "gpubpf_divide_s64" :
					    "gpubpf_rest_s64";
	LLVMValueRef args[] = { n, d }, v;

	if (!l->target->divides_by_library)
		return LLVMBuildBinOp(l->b, op, n, d, "");
	for (int i = 0; i < 2; i++)
		args[i] = LLVMBuildIntCast2(l->b, args[i], wide, minus, "");
	v = low_call(l, name, args, 2);
	/* if the library lacks the function, low_call() has recorded a diagnostic */
	return v ? LLVMBuildTruncOrBitCast(l->b, v, type, "") : n;
}

/*
 * Emits n / s or n % s. by_zero is the result if s is 0. by_minus_one is the result if s is -1; it is NULL for unsigned
 * operations.
 */
static LLVMValueRef divide(struct low *l, LLVMOpcode op, LLVMValueRef n, LLVMValueRef s, LLVMValueRef by_zero,
			   LLVMValueRef by_minus_one)
{
	LLVMTypeRef type = LLVMTypeOf(n);
	LLVMValueRef one = LLVMConstInt(type, 1, false);
	LLVMValueRef zero = LLVMBuildICmp(l->b, LLVMIntEQ, s, LLVMConstInt(type, 0, false), "");
	LLVMValueRef minus = NULL, safe = LLVMBuildSelect(l->b, zero, one, s, ""), result;

	if (by_minus_one) {
		minus = LLVMBuildICmp(l->b, LLVMIntEQ, s, LLVMConstAllOnes(type), "");
		safe = LLVMBuildSelect(l->b, minus, one, safe, "");
	}
	result = divide_by(l, op, n, safe);
	if (by_minus_one)
		result = LLVMBuildSelect(l->b, minus, by_minus_one, result, "");
	return LLVMBuildSelect(l->b, zero, by_zero, result, "");
}

/* Emits d op s for operands of `width` bytes. */
static LLVMValueRef compute(struct low *l, enum gpubpf_alu_op op, unsigned width, LLVMValueRef d, LLVMValueRef s)
{
	LLVMValueRef zero = LLVMConstInt(low_int(l, width), 0, false);

	switch (op) {
	case GPUBPF_ADD:
		return LLVMBuildAdd(l->b, d, s, "");
	case GPUBPF_SUB:
		return LLVMBuildSub(l->b, d, s, "");
	case GPUBPF_MUL:
		return LLVMBuildMul(l->b, d, s, "");
	case GPUBPF_OR:
		return LLVMBuildOr(l->b, d, s, "");
	case GPUBPF_AND:
		return LLVMBuildAnd(l->b, d, s, "");
	case GPUBPF_XOR:
		return LLVMBuildXor(l->b, d, s, "");
	case GPUBPF_LSH:
		return LLVMBuildShl(l->b, d, shift_by(l, s, width), "");
	case GPUBPF_RSH:
		return LLVMBuildLShr(l->b, d, shift_by(l, s, width), "");
	case GPUBPF_ARSH:
		return LLVMBuildAShr(l->b, d, shift_by(l, s, width), "");
	case GPUBPF_NEG:
		return LLVMBuildNeg(l->b, d, "");
	case GPUBPF_MOV:
		return s;
	case GPUBPF_DIV:
		return divide(l, LLVMUDiv, d, s, zero, NULL);
	case GPUBPF_MOD:
		return divide(l, LLVMURem, d, s, d, NULL);
	case GPUBPF_SDIV:
		return divide(l, LLVMSDiv, d, s, zero, LLVMBuildNeg(l->b, d, ""));
	case GPUBPF_SMOD:
		return divide(l, LLVMSRem, d, s, d, zero);
	case GPUBPF_END:
	case GPUBPF_MOVSX:
	case GPUBPF_NALU:
		break;
	}
	return d;
}

/* Emits a byte-order conversion (RFC 9669 4.2). Every device is little-endian. */
static LLVMValueRef swap(struct low *l, const struct gpubpf_insn *insn, LLVMValueRef d)
{
	LLVMTypeRef type = low_int(l, insn->width);
	unsigned id = LLVMLookupIntrinsicID("llvm.bswap", 10);
	LLVMValueRef v = cut(l, d, insn->width), fn;

	if (insn->ext != 'l') {
		fn = LLVMGetIntrinsicDeclaration(l->mod, id, &type, 1);
		v = LLVMBuildCall2(l->b, LLVMIntrinsicGetType(l->ctx, id, &type, 1), fn, &v, 1, "");
	}
	return v;
}

static LLVMValueRef extend(struct low *l, const struct gpubpf_insn *insn, LLVMValueRef s)
{
	return LLVMBuildSExt(l->b, cut(l, s, insn->ext / 8), low_int(l, insn->width), "");
}

void low_alu(struct low_frame *f, const struct gpubpf_insn *insn)
{
	const struct gpubpf_facts *facts = f->p->prog->facts;
	struct low *l = f->p->l;
	LLVMValueRef v;

	if (facts && !l->job->checked && (facts->insn[insn - f->p->prog->insns].flags & GPUBPF_FACT_CONST)) {
		low_set(f, insn->dst, low_const(l, facts->insn[insn - f->p->prog->insns].value));
		return;
	}
	if (insn->op == GPUBPF_END)
		v = swap(l, insn, low_get(f, insn->dst));
	else if (insn->op == GPUBPF_MOVSX)
		v = extend(l, insn, low_source(f, insn));
	else
		v = compute(l, insn->op, insn->width, cut(l, low_get(f, insn->dst), insn->width),
			    cut(l, low_source(f, insn), insn->width));
	low_set(f, insn->dst, widen(l, v));
}

/* Counts a may_goto. Returns the condition of its jump. */
static LLVMValueRef may_goto(struct low_frame *f)
{
	struct low *l = f->p->l;
	LLVMValueRef left = LLVMBuildLoad2(l->b, low_int(l, 8), f->may_left, "may_left");
	LLVMValueRef none = LLVMBuildIsNull(l->b, left, ""), less = LLVMBuildSub(l->b, left, low_const(l, 1), "");

	LLVMBuildStore(l->b, LLVMBuildSelect(l->b, none, left, less, ""), f->may_left);
	return none;
}

LLVMValueRef low_condition(struct low_frame *f, const struct gpubpf_insn *insn)
{
	static const LLVMIntPredicate predicate[GPUBPF_NJMP] = {
		[GPUBPF_JEQ] = LLVMIntEQ,   [GPUBPF_JNE] = LLVMIntNE,   [GPUBPF_JSET] = LLVMIntNE,
		[GPUBPF_JGT] = LLVMIntUGT,  [GPUBPF_JGE] = LLVMIntUGE,  [GPUBPF_JLT] = LLVMIntULT,
		[GPUBPF_JLE] = LLVMIntULE,  [GPUBPF_JSGT] = LLVMIntSGT, [GPUBPF_JSGE] = LLVMIntSGE,
		[GPUBPF_JSLT] = LLVMIntSLT, [GPUBPF_JSLE] = LLVMIntSLE,
	};
	struct low *l = f->p->l;
	LLVMValueRef d, s;

	if (insn->op == GPUBPF_MAY_GOTO)
		return may_goto(f);
	d = cut(l, low_get(f, insn->dst), insn->width);
	s = cut(l, low_source(f, insn), insn->width);
	if (insn->op == GPUBPF_JSET) {
		d = LLVMBuildAnd(l->b, d, s, "");
		s = LLVMConstInt(low_int(l, insn->width), 0, false);
	}
	return LLVMBuildICmp(l->b, predicate[insn->op], d, s, "");
}
