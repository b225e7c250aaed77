/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: promotes arrays to registers that SROA cannot promote, for a target whose threads have no memory.
 * Before: some arrays, which the other passes did not promote, are accessed at offsets known only at run time. In
 * others an access crosses the end of an aligned word of 64 bits, and shares bytes with accesses of both words.
 * After: each such access selects among all words of the array. Each word is at a constant offset, so SROA can promote
 * it.
 * Requires: SROA runs afterwards. An array stays unchanged if its address escapes or if the selects would be too many.
 */
#include <errno.h>
#include <string.h>

#include "passes.h"

#define MAX_WORDS 128    /* largest number of words in an array; each word becomes a 64-bit register */
#define MAX_SELECTS 8192 /* largest number of selects for all accesses to an array */
#define VARIES UINT64_MAX /* offset known only at run time */

struct array {
	struct low *l;
	LLVMValueRef at; /* alloca of the array */
	uint32_t words;
	LLVMValueRef *split; /* accesses at a variable offset, or across the end of a word */
	uint32_t nsplit, room;
};

static bool is_plain_int(LLVMTypeRef type)
{
	unsigned bits = LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;

	return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static LLVMTypeRef access_type(LLVMValueRef access)
{
	return LLVMTypeOf(LLVMIsAStoreInst(access) ? LLVMGetOperand(access, 0) : access);
}

static int add_split(struct array *a, LLVMValueRef access)
{
	if (!is_plain_int(access_type(access)) || LLVMGetVolatile(access) ||
	    LLVMGetOrdering(access) != LLVMAtomicOrderingNotAtomic)
		return -EINVAL;
	if (a->nsplit == a->room) {
		uint32_t room = a->room ? 2 * a->room : 16;
		LLVMValueRef *grown = gpubpf_pool_alloc(a->l->pool, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		if (a->nsplit)
			memcpy(grown, a->split, a->nsplit * sizeof(*grown));
		a->split = grown;
		a->room = room;
	}
	a->split[a->nsplit++] = access;
	return 0;
}

/* Returns the offset of a GEP whose base has the offset `off`. */
static uint64_t add_indices(const struct array *a, LLVMValueRef gep, uint64_t off)
{
	LLVMTargetDataRef layout = LLVMGetModuleDataLayout(a->l->mod);
	LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);

	for (int i = 1; off != VARIES && i < LLVMGetNumOperands(gep); i++) {
		LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
		uint64_t n;

		if (!LLVMIsAConstantInt(index))
			return VARIES;
		n = (uint64_t)LLVMConstIntGetSExtValue(index);
		if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
			off += LLVMOffsetOfElement(layout, type, (unsigned)n);
			type = LLVMStructGetTypeAtIndex(type, (unsigned)n);
		} else {
			type = i > 1 ? LLVMGetElementType(type) : type;
			off += n * LLVMABISizeOfType(layout, type);
		}
	}
	return off;
}

/* Returns true if the access has bytes of two aligned words. */
static bool crosses_word(const struct array *a, LLVMValueRef access, uint64_t off)
{
	return off % 8 + LLVMStoreSizeOfType(LLVMGetModuleDataLayout(a->l->mod), access_type(access)) > 8;
}

/* Returns true if the call is a memset or memcpy of a constant number of bytes, which SROA can split. */
static bool is_known_call(LLVMValueRef call)
{
	static const char *const known[] = { "llvm.memset.", "llvm.memcpy.", "llvm.memmove.", "llvm.lifetime." };
	LLVMValueRef fn = LLVMIsACallInst(call) ? LLVMGetCalledValue(call) : NULL;
	size_t n;
	const char *name = fn ? LLVMGetValueName2(fn, &n) : "";

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(name, known[i], strlen(known[i])))
			return i == 3 || LLVMIsAConstantInt(LLVMGetOperand(call, 2));
	return false;
}

/*
 * Collects the accesses to split, through a pointer to the array's byte `off`. Returns -EINVAL if a use of the pointer
 * cannot be split into words.
 */
static int collect_uses(struct array *a, LLVMValueRef ptr, uint64_t off)
{
	for (LLVMUseRef use = LLVMGetFirstUse(ptr); use; use = LLVMGetNextUse(use)) {
		LLVMValueRef user = LLVMGetUser(use);
		int err = 0;

		if (LLVMIsAGetElementPtrInst(user))
			err = collect_uses(a, user, add_indices(a, user, off));
		else if (LLVMIsALoadInst(user) || (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) != ptr))
			err = off == VARIES || crosses_word(a, user, off) ? add_split(a, user) : 0;
		else if (off == VARIES || !is_known_call(user))
			err = -EINVAL;
		if (err < 0)
			return err;
	}
	return 0;
}

/* Returns `ptr` minus the array's address, as a pointer: applies the same GEPs to address 0. */
static LLVMValueRef emit_steps(struct array *a, LLVMValueRef ptr)
{
	LLVMValueRef index[8], base;
	unsigned n = 0;

	if (ptr == a->at)
		return LLVMConstPointerNull(LLVMTypeOf(ptr));
	base = emit_steps(a, LLVMGetOperand(ptr, 0));
	for (; n + 1 < (unsigned)LLVMGetNumOperands(ptr) && n < 8; n++)
		index[n] = LLVMGetOperand(ptr, n + 1);
	return LLVMBuildGEP2(a->l->b, LLVMGetGEPSourceElementType(ptr), base, index, n, "");
}

/*
 * Part of an access that lies in one word. `word`: index of the word. `shift`: position in the word in bits (i64).
 * `bytes`: size of the part.
 */
struct part {
	LLVMValueRef word, shift;
	unsigned bytes;
};

static struct part emit_part(struct array *a, LLVMValueRef off, unsigned at, unsigned bytes)
{
	struct low *l = a->l;
	LLVMValueRef o = LLVMBuildAdd(l->b, off, low_const32(l, at), ""), in;
	struct part p = { LLVMBuildLShr(l->b, o, low_const32(l, 3), ""), low_const(l, 0), bytes };

	if (bytes == 8)
		return p;
	in = LLVMBuildShl(l->b, LLVMBuildAnd(l->b, o, low_const32(l, 7), ""), low_const32(l, 3), "");
	p.shift = LLVMBuildZExt(l->b, in, low_int(l, 8), "");
	return p;
}

static LLVMValueRef emit_word_ptr(struct array *a, uint32_t i)
{
	return low_byte_ptr(a->l, a->at, low_const32(a->l, 8 * i));
}

static LLVMValueRef load_word(struct array *a, uint32_t i)
{
	LLVMValueRef v = LLVMBuildLoad2(a->l->b, low_int(a->l, 8), emit_word_ptr(a, i), "");

	LLVMSetAlignment(v, 8);
	return v;
}

static LLVMValueRef is_word(struct array *a, const struct part *p, uint32_t i)
{
	return LLVMBuildICmp(a->l->b, LLVMIntEQ, p->word, low_const32(a->l, i), "");
}

static LLVMValueRef load_part(struct array *a, const struct part *p)
{
	LLVMValueRef v = load_word(a, 0);
	struct low *l = a->l;

	for (uint32_t i = 1; i < a->words; i++)
		v = LLVMBuildSelect(l->b, is_word(a, p, i), load_word(a, i), v, "");
	v = LLVMBuildTrunc(l->b, LLVMBuildLShr(l->b, v, p->shift, ""), low_int(l, p->bytes), "");
	return LLVMBuildZExt(l->b, v, low_int(l, 8), "");
}

static void store_part(struct array *a, const struct part *p, LLVMValueRef v)
{
	struct low *l = a->l;
	LLVMValueRef mask = low_const(l, p->bytes == 8 ? UINT64_MAX : (1ull << 8 * p->bytes) - 1);

	v = LLVMBuildShl(l->b, LLVMBuildAnd(l->b, v, mask, ""), p->shift, "");
	mask = LLVMBuildShl(l->b, mask, p->shift, "");
	for (uint32_t i = 0; i < a->words; i++) {
		LLVMValueRef old = load_word(a, i), rest = LLVMBuildAnd(l->b, old, LLVMBuildNot(l->b, mask, ""), "");
		LLVMValueRef now = LLVMBuildSelect(l->b, is_word(a, p, i), LLVMBuildOr(l->b, rest, v, ""), old, "");

		LLVMSetAlignment(LLVMBuildStore(l->b, now, emit_word_ptr(a, i)), 8);
	}
}

static unsigned part_bytes(LLVMValueRef access, unsigned bytes)
{
	unsigned align = LLVMGetAlignment(access);

	return align < bytes ? align : bytes;
}

static void replace(struct array *a, LLVMValueRef access)
{
	bool store = LLVMIsAStoreInst(access) != NULL;
	LLVMTypeRef type = access_type(access);
	unsigned bytes = LLVMGetIntTypeWidth(type) / 8, each = part_bytes(access, bytes);
	LLVMValueRef off, v;
	struct low *l = a->l;

	LLVMPositionBuilderBefore(l->b, access);
	off = LLVMBuildPtrToInt(l->b, emit_steps(a, LLVMGetOperand(access, store ? 1 : 0)), l->i32, "");
	v = store ? LLVMBuildZExt(l->b, LLVMGetOperand(access, 0), low_int(l, 8), "") : low_const(l, 0);
	for (unsigned at = 0; at < bytes; at += each) {
		struct part p = emit_part(a, off, at, each);
		LLVMValueRef up = low_const(l, 8 * at);

		if (store)
			store_part(a, &p, LLVMBuildLShr(l->b, v, up, ""));
		else
			v = LLVMBuildOr(l->b, v, LLVMBuildShl(l->b, load_part(a, &p), up, ""), "");
	}
	if (!store)
		LLVMReplaceAllUsesWith(access, LLVMBuildTrunc(l->b, v, type, ""));
	LLVMInstructionEraseFromParent(access);
}

static uint32_t count_selects(const struct array *a)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->nsplit; i++) {
		unsigned bytes = LLVMGetIntTypeWidth(access_type(a->split[i])) / 8;

		n += bytes / part_bytes(a->split[i], bytes) * a->words;
	}
	return n;
}

/* Replaces the array by one whose size is a multiple of a word. */
static void widen(struct array *a)
{
	LLVMValueRef rounded;

	LLVMPositionBuilderBefore(a->l->b, a->at);
	rounded = LLVMBuildAlloca(a->l->b, LLVMArrayType2(low_int(a->l, 8), a->words), "words");
	LLVMSetAlignment(rounded, 8);
	LLVMReplaceAllUsesWith(a->at, rounded);
	LLVMInstructionEraseFromParent(a->at);
	a->at = rounded;
}

static int promote_array(struct low *l, LLVMValueRef alloca)
{
	uint64_t size = LLVMABISizeOfType(LLVMGetModuleDataLayout(l->mod), LLVMGetAllocatedType(alloca));
	struct array a = { .l = l, .at = alloca, .words = (size + 7) / 8 };
	int err = collect_uses(&a, alloca, 0);

	if (err == -ENOMEM)
		return err;
	if (err < 0 || !a.nsplit || size > 8 * MAX_WORDS || count_selects(&a) > MAX_SELECTS)
		return 0;
	widen(&a);
	for (uint32_t i = 0; i < a.nsplit; i++)
		replace(&a, a.split[i]);
	return 0;
}

int low_promote_arrays(struct low *l)
{
	for (LLVMValueRef fn = LLVMGetFirstFunction(l->mod); fn; fn = LLVMGetNextFunction(fn)) {
		LLVMBasicBlockRef entry = LLVMIsDeclaration(fn) ? NULL : LLVMGetEntryBasicBlock(fn);

		for (LLVMValueRef i = entry ? LLVMGetFirstInstruction(entry) : NULL, next; i; i = next) {
			int err;

			next = LLVMGetNextInstruction(i);
			err = LLVMIsAAllocaInst(i) ? promote_array(l, i) : 0;
			if (err < 0)
				return err;
		}
	}
	return 0;
}
