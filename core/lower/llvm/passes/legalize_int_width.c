/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: legalizes integers to widths of 8, 16, 32 and 64 bits.
 * Before: the functions have no switches.
 * After: no integer has another width. An instruction without a legal form is an error.
 * Requires: SPIR-V. The optimizing passes have run.
 *
 * If the last byte of a word is accessed separately, SROA splits the word into integers of 24 and 8 bits. LLVM 22's
 * SPIR-V backend stores the 24 bits in 32 bits and does not clear the upper bits, so the recombined word is wrong. This
 * pass gives such a value the next legal width and clears its upper bits.
 *
 * The backend also lowers zext(trunc(v)) to v if v is wider than the result, which makes the module invalid. The pass
 * masks v before it truncates. The pass also expands bit reversals, because SPIR-V kernels have no instruction for
 * them.
 */
#include <errno.h>
#include <string.h>

#include "passes.h"

/* A value of an illegal width, and its replacement. */
struct wide {
	LLVMValueRef old;
	LLVMValueRef legal_value; /* the replacement; until it exists, a placeholder, because users may precede it */
};

struct widths {
	struct low *l;
	struct wide *wide;
	uint32_t n;
};

static unsigned get_int_bits(LLVMTypeRef type)
{
	return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
}

static unsigned get_bits(LLVMValueRef v)
{
	return get_int_bits(LLVMTypeOf(v));
}

static bool is_odd_type(LLVMTypeRef type)
{
	unsigned bits = get_int_bits(type);

	return bits > 1 && bits != 8 && bits != 16 && bits != 32 && bits != 64;
}

static bool is_odd(LLVMValueRef v)
{
	return is_odd_type(LLVMTypeOf(v));
}

static LLVMTypeRef get_wide_type(struct low *l, unsigned bits)
{
	return low_int(l, bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8);
}

/* Returns the value zero-extended to a legal width. */
static LLVMValueRef get_legal_value(struct widths *w, LLVMValueRef v)
{
	if (!is_odd(v))
		return v;
	if (LLVMIsAConstantInt(v))
		return LLVMConstInt(get_wide_type(w->l, get_bits(v)), LLVMConstIntGetZExtValue(v), false);
	for (uint32_t i = 0; i < w->n; i++)
		if (w->wide[i].old == v)
			return w->wide[i].legal_value;
	return LLVMConstNull(get_wide_type(w->l, get_bits(v))); /* v is undef or poison, so any value is correct */
}

static LLVMValueRef to_width(struct low *l, LLVMValueRef v, LLVMTypeRef type)
{
	unsigned have = get_bits(v), want = get_int_bits(type);

	if (have == want)
		return v;
	return have > want ? LLVMBuildTrunc(l->b, v, type, "") : LLVMBuildZExt(l->b, v, type, "");
}

/* Returns the low `bits` bits of v, zero-extended. */
static LLVMValueRef emit_mask(struct low *l, LLVMValueRef v, unsigned bits)
{
	return LLVMBuildAnd(l->b, v, LLVMConstInt(LLVMTypeOf(v), (1ull << bits) - 1, false), "");
}

/* Returns operand i, sign-extended to its legal type. */
static LLVMValueRef emit_sign_extension(struct widths *w, LLVMValueRef insn, unsigned i)
{
	LLVMValueRef operand = LLVMGetOperand(insn, i), v = get_legal_value(w, operand);
	LLVMValueRef above = LLVMConstInt(LLVMTypeOf(v), get_bits(v) - get_bits(operand), false);

	if (!is_odd(operand))
		return v;
	return LLVMBuildAShr(w->l->b, LLVMBuildShl(w->l->b, v, above, ""), above, "");
}

static LLVMValueRef load_byte(struct low *l, LLVMValueRef ptr, unsigned k)
{
	return low_byte_ptr(l, ptr, low_const(l, k));
}

/*
 * Splits a load or store of an illegal width into accesses of single bytes. Returns NULL if the width is not a number
 * of bytes, or the access is volatile or atomic.
 */
static LLVMValueRef access_bytes(struct widths *w, LLVMValueRef insn, LLVMValueRef stored)
{
	LLVMValueRef ptr = LLVMGetOperand(insn, stored ? 1 : 0), v = NULL, byte, shift;
	unsigned bits = get_bits(stored ? stored : insn);
	LLVMTypeRef type = get_wide_type(w->l, bits);

	if (bits % 8 || LLVMGetVolatile(insn) || LLVMGetOrdering(insn) != LLVMAtomicOrderingNotAtomic)
		return NULL;
	for (unsigned k = 0; k < bits / 8; k++) {
		shift = LLVMConstInt(type, 8 * k, false);
		if (stored) {
			byte = LLVMBuildTrunc(w->l->b, LLVMBuildLShr(w->l->b, get_legal_value(w, stored), shift, ""),
					      w->l->i8, "");
			v = LLVMBuildStore(w->l->b, byte, load_byte(w->l, ptr, k));
			LLVMSetAlignment(v, 1);
			continue;
		}
		byte = LLVMBuildLoad2(w->l->b, w->l->i8, load_byte(w->l, ptr, k), "");
		byte = LLVMBuildShl(w->l->b, LLVMBuildZExt(w->l->b, byte, type, ""), shift, "");
		v = v ? LLVMBuildOr(w->l->b, v, byte, "") : byte;
	}
	return v;
}

static LLVMValueRef legalize_phi(struct widths *w, LLVMValueRef phi)
{
	LLVMValueRef made = LLVMBuildPhi(w->l->b, get_wide_type(w->l, get_bits(phi)), "");

	for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
		LLVMValueRef value = get_legal_value(w, LLVMGetIncomingValue(phi, i));
		LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);

		LLVMAddIncoming(made, &value, &from, 1);
	}
	return made;
}

static LLVMValueRef legalize_array(struct widths *w, LLVMValueRef array)
{
	unsigned bytes = (get_int_bits(LLVMGetAllocatedType(array)) + 7) / 8;
	LLVMValueRef made = LLVMBuildAlloca(w->l->b, LLVMArrayType2(w->l->i8, bytes), "");

	LLVMSetAlignment(made, LLVMGetAlignment(array));
	return made;
}

static LLVMValueRef legalize_compare(struct widths *w, LLVMValueRef insn)
{
	LLVMIntPredicate is = LLVMGetICmpPredicate(insn);

	if (is >= LLVMIntSGT)
		return LLVMBuildICmp(w->l->b, is, emit_sign_extension(w, insn, 0), emit_sign_extension(w, insn, 1), "");
	return LLVMBuildICmp(w->l->b, is, get_legal_value(w, LLVMGetOperand(insn, 0)),
			     get_legal_value(w, LLVMGetOperand(insn, 1)), "");
}

static bool is_reversal(LLVMValueRef insn)
{
	static const char name[] = "llvm.bitreverse";
	LLVMValueRef fn = LLVMIsACallInst(insn) ? LLVMGetCalledValue(insn) : NULL;

	return fn && LLVMIsAFunction(fn) && LLVMGetIntrinsicID(fn) == LLVMLookupIntrinsicID(name, sizeof(name) - 1);
}

/* Reverses the bits of v: swaps adjacent bits, then adjacent pairs of bits, then groups of four, and so on. */
static LLVMValueRef emit_reversal(struct low *l, LLVMValueRef v)
{
	LLVMTypeRef type = LLVMTypeOf(v);

	for (unsigned n = 1; n < get_int_bits(type); n *= 2) {
		uint64_t mask = (UINT64_MAX >> (64 - get_int_bits(type))) / ((1ull << n) + 1); /* 0x5555, 0x3333, 0x0f0f, ... */
		LLVMValueRef lower = LLVMConstInt(type, mask, false), by = LLVMConstInt(type, n, false);
		LLVMValueRef up = LLVMBuildShl(l->b, LLVMBuildAnd(l->b, v, lower, ""), by, "");

		v = LLVMBuildOr(l->b, up, LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, v, by, ""), lower, ""), "");
	}
	return v;
}

/* Builds the legal form of an instruction before it. Returns NULL if no legal form is known. */
static LLVMValueRef legalize(struct widths *w, LLVMValueRef insn)
{
	LLVMOpcode op = LLVMGetInstructionOpcode(insn);
	LLVMBuilderRef b = w->l->b;
	LLVMTypeRef type = is_odd(insn) ? get_wide_type(w->l, get_bits(insn)) : LLVMTypeOf(insn);
	LLVMValueRef first = LLVMGetNumOperands(insn) ? LLVMGetOperand(insn, 0) : NULL, v;

	switch (op) {
	case LLVMPHI:
		return legalize_phi(w, insn);
	case LLVMAlloca:
		return legalize_array(w, insn);
	case LLVMICmp:
		return legalize_compare(w, insn);
	case LLVMLoad:
		return access_bytes(w, insn, NULL);
	case LLVMStore:
		return access_bytes(w, insn, first);
	case LLVMSelect:
		return LLVMBuildSelect(b, first, get_legal_value(w, LLVMGetOperand(insn, 1)),
				       get_legal_value(w, LLVMGetOperand(insn, 2)), "");
	case LLVMZExt:
		return to_width(w->l, get_legal_value(w, first), type);
	case LLVMTrunc:
		v = to_width(w->l, get_legal_value(w, first), type);
		break;
	case LLVMSExt:
		v = emit_sign_extension(w, insn, 0);
		v = get_bits(v) > get_int_bits(type) ? LLVMBuildTrunc(b, v, type, "") : LLVMBuildSExt(b, v, type, "");
		break;
	case LLVMCall:
		if (!is_reversal(insn))
			return NULL;
		v = LLVMBuildLShr(b, emit_reversal(w->l, get_legal_value(w, first)),
				  LLVMConstInt(type, get_int_bits(type) - get_bits(insn), false), "");
		break;
	case LLVMFreeze:
		v = LLVMBuildFreeze(b, get_legal_value(w, first), "");
		break;
	case LLVMAnd:
	case LLVMOr:
	case LLVMXor:
	case LLVMLShr:
	case LLVMUDiv:
	case LLVMURem:
	case LLVMAdd:
	case LLVMSub:
	case LLVMMul:
	case LLVMShl:
		v = LLVMBuildBinOp(b, op, get_legal_value(w, first), get_legal_value(w, LLVMGetOperand(insn, 1)), "");
		break;
	case LLVMAShr:
		v = LLVMBuildAShr(b, emit_sign_extension(w, insn, 0), get_legal_value(w, LLVMGetOperand(insn, 1)), "");
		break;
	default:
		return NULL;
	}
	return is_odd(insn) ? emit_mask(w->l, v, get_bits(insn)) : v;
}

static bool has_illegal_width(LLVMValueRef insn)
{
	if (is_odd(insn))
		return true;
	for (int i = 0; i < LLVMGetNumOperands(insn); i++)
		if (is_odd(LLVMGetOperand(insn, i)))
			return true;
	return LLVMIsAAllocaInst(insn) && is_odd_type(LLVMGetAllocatedType(insn));
}

/* Lists the instructions with illegal widths. Returns 0 or -ENOMEM. */
static int gather(struct low *l, LLVMValueRef fn, LLVMValueRef **list, uint32_t *n)
{
	uint32_t room = 0;

	*n = 0;
	for (int fill = 0; fill < 2; fill++) {
		if (fill && !room)
			return 0;
		*list = fill ? gpubpf_pool_alloc(l->pool, room, sizeof(**list)) : NULL;
		if (fill && !*list)
			return -ENOMEM;
		for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
			for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
				if (!has_illegal_width(i))
					continue;
				if (fill)
					(*list)[(*n)++] = i;
				else
					room++;
			}
	}
	return 0;
}

static int refuse_insn(struct low *l, LLVMValueRef insn)
{
	char *text = LLVMPrintValueToString(insn);

	gpubpf_diag_set(l->diag, GPUBPF_E_COMPILE, GPUBPF_NOPC,
			"LLVM for %s: '%s' cannot be legalized to 8, 16, 32 or 64 bits", l->target->name, text);
	LLVMDisposeMessage(text);
	return -EINVAL;
}

/* Creates an opaque placeholder for each value until its replacement exists. */
static int add_placeholders(struct widths *w, LLVMValueRef fn, LLVMValueRef *list, uint32_t n)
{
	LLVMPositionBuilderBefore(w->l->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
	w->wide = gpubpf_pool_alloc(w->l->pool, n, sizeof(*w->wide));
	if (!w->wide)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		if (!is_odd(list[i]))
			continue;
		if (get_bits(list[i]) > 64)
			return refuse_insn(w->l, list[i]);
		w->wide[w->n++] = (struct wide){
			list[i], LLVMBuildFreeze(w->l->b, LLVMGetUndef(get_wide_type(w->l, get_bits(list[i]))), "")
		};
	}
	return 0;
}

/* Replaces the old value, or its placeholder, by the new value. */
static void replace_value(struct widths *w, LLVMValueRef old, LLVMValueRef made)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->wide[i].old == old) {
			LLVMReplaceAllUsesWith(w->wide[i].legal_value, made);
			LLVMInstructionEraseFromParent(w->wide[i].legal_value);
			w->wide[i].legal_value = made;
			return;
		}
	if (LLVMGetTypeKind(LLVMTypeOf(old)) != LLVMVoidTypeKind)
		LLVMReplaceAllUsesWith(old, made);
}

static int legalize_function(struct low *l, LLVMValueRef fn)
{
	struct widths w = { .l = l };
	LLVMValueRef *list, made;
	uint32_t n;
	int err = gather(l, fn, &list, &n);

	if (err < 0 || !n)
		return err;
	err = add_placeholders(&w, fn, list, n);
	for (uint32_t i = 0; !err && i < n; i++) {
		LLVMPositionBuilderBefore(l->b, list[i]);
		made = legalize(&w, list[i]);
		if (!made)
			return refuse_insn(l, list[i]);
		replace_value(&w, list[i], made);
	}
	for (uint32_t i = 0; !err && i < n; i++) {
		if (is_odd(list[i]))
			/* the remaining users are also erased, so the value does not matter */
			LLVMReplaceAllUsesWith(list[i], LLVMGetUndef(LLVMTypeOf(list[i])));
		LLVMInstructionEraseFromParent(list[i]);
	}
	return err;
}

/*
 * Returns trunc(v & mask) in place of zext(trunc(v)), if v is wider than the result. Returns NULL for any other
 * instruction.
 */
static LLVMValueRef find_cleared(struct low *l, LLVMValueRef insn)
{
	LLVMValueRef trunc = LLVMIsAZExtInst(insn) ? LLVMGetOperand(insn, 0) : NULL, v;

	if (!trunc || !LLVMIsATruncInst(trunc))
		return NULL;
	v = LLVMGetOperand(trunc, 0);
	if (get_bits(v) <= get_bits(insn))
		return NULL;
	v = LLVMBuildAnd(l->b, v, LLVMConstInt(LLVMTypeOf(v), (1ull << get_bits(trunc)) - 1, false), "");
	return LLVMBuildTrunc(l->b, v, LLVMTypeOf(insn), "");
}

/* Replaces an instruction that LLVM's SPIR-V backend miscompiles or cannot express. */
static void replace(struct low *l, LLVMValueRef insn)
{
	LLVMValueRef made;

	LLVMPositionBuilderBefore(l->b, insn);
	made = is_reversal(insn) && get_bits(insn) ? emit_reversal(l, LLVMGetOperand(insn, 0)) : find_cleared(l, insn);
	if (!made)
		return;
	LLVMReplaceAllUsesWith(insn, made);
	LLVMInstructionEraseFromParent(insn);
}

static void replace_all(struct low *l, LLVMValueRef fn)
{
	LLVMValueRef next;

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
		for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = next) {
			next = LLVMGetNextInstruction(i);
			replace(l, i);
		}
}

int low_legalize_widths(struct low *l)
{
	int err = 0;

	for (LLVMValueRef fn = LLVMGetFirstFunction(l->mod); fn && !err; fn = LLVMGetNextFunction(fn))
		err = legalize_function(l, fn);
	for (LLVMValueRef fn = LLVMGetFirstFunction(l->mod); fn && !err; fn = LLVMGetNextFunction(fn))
		replace_all(l, fn);
	return err;
}
