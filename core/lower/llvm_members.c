/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a compare-and-exchange gives is a structure: the old value, and whether it was exchanged. instcombine moves
 * freezes and phis from a member to the whole, of which LLVM 22 makes invalid SPIR-V, or crashes: after the last
 * pass they are moved back. Before: such structures come of compare-and-exchange, freeze, phi and constants.
 * After: they come of compare-and-exchange alone, and only extractvalue reads them.
 */
#include <errno.h>

#include "llvm_low.h"

#define MEMBERS 2

struct split {
	struct split *next;
	LLVMValueRef phi, member[MEMBERS];
};

struct members {
	struct low *l;
	struct split *splits;
	int err;
};

static void each_struct(struct low *l, void (*fn)(struct members *, LLVMValueRef), struct members *m)
{
	for (LLVMValueRef f = LLVMGetFirstFunction(l->mod); f; f = LLVMGetNextFunction(f))
		for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
			for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
				next = LLVMGetNextInstruction(i);
				if (LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMStructTypeKind)
					fn(m, i);
			}
}

/* A freeze stops nothing any more. */
static void thaw(struct members *m, LLVMValueRef i)
{
	if (!LLVMIsAFreezeInst(i))
		return;
	LLVMReplaceAllUsesWith(i, LLVMGetOperand(i, 0));
	LLVMInstructionEraseFromParent(i);
}

static void note_phi(struct members *m, LLVMValueRef i)
{
	struct split *s;

	if (!LLVMIsAPHINode(i) || LLVMCountStructElementTypes(LLVMTypeOf(i)) != MEMBERS)
		return;
	s = gpubpf_pool_alloc(m->l->pool, 1, sizeof(*s));
	if (!s) {
		m->err = -ENOMEM;
		return;
	}
	s->phi = i;
	s->next = m->splits;
	m->splits = s;
}

/* The member's value from a block that the phi has named before; a switch may come from one block twice. */
static LLVMValueRef known_from(LLVMValueRef phi, LLVMBasicBlockRef from)
{
	for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
		if (LLVMGetIncomingBlock(phi, i) == from)
			return LLVMGetIncomingValue(phi, i);
	return NULL;
}

static void make_member(struct low *l, struct split *s, unsigned member)
{
	LLVMTypeRef type = LLVMStructGetTypeAtIndex(LLVMTypeOf(s->phi), member);

	LLVMPositionBuilderBefore(l->b, s->phi);
	s->member[member] = LLVMBuildPhi(l->b, type, "");
	for (unsigned i = 0; i < LLVMCountIncoming(s->phi); i++) {
		LLVMBasicBlockRef from = LLVMGetIncomingBlock(s->phi, i);
		LLVMValueRef value = known_from(s->member[member], from);

		LLVMPositionBuilderBefore(l->b, LLVMGetBasicBlockTerminator(from));
		if (!value)
			value = LLVMBuildExtractValue(l->b, LLVMGetIncomingValue(s->phi, i), member, "");
		LLVMAddIncoming(s->member[member], &value, &from, 1);
	}
}

/* All that reads a member; other phis of structures go too. */
static void use_members(struct split *s)
{
	for (LLVMUseRef use = LLVMGetFirstUse(s->phi), next; use; use = next) {
		LLVMValueRef user = LLVMGetUser(use);

		next = LLVMGetNextUse(use);
		if (!LLVMIsAExtractValueInst(user))
			continue;
		LLVMReplaceAllUsesWith(user, s->member[LLVMGetIndices(user)[0]]);
		LLVMInstructionEraseFromParent(user);
	}
}

static void drop(struct split *s)
{
	LLVMReplaceAllUsesWith(s->phi, LLVMGetPoison(LLVMTypeOf(s->phi)));
	LLVMInstructionEraseFromParent(s->phi);
}

int low_split_members(struct low *l)
{
	struct members m = { .l = l };

	each_struct(l, thaw, &m);
	each_struct(l, note_phi, &m);
	for (struct split *s = m.splits; s && !m.err; s = s->next)
		for (unsigned i = 0; i < MEMBERS; i++)
			make_member(l, s, i);
	for (struct split *s = m.splits; s && !m.err; s = s->next)
		use_members(s);
	for (struct split *s = m.splits; s && !m.err; s = s->next)
		drop(s);
	return m.err;
}
