/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: replaces a read of the active mask by an earlier read, if the same lanes are active at both.
 * Before: each use of the active mask calls llvm.nvvm.activemask.
 * After: such a call remains only if no earlier read tells the active lanes.
 * Requires: NVPTX, and no program that may end a thread.
 *
 * The same lanes are active at two points if every path between them takes only uniform branches. A branch is uniform
 * if its condition is a constant of the place, the result of a vote, or computed from these. If only some edges into a
 * block have a known mask, the pass inserts reads on the other edges. It joins the masks in a phi.
 *
 * At places at single instructions, %gpubpf_came has the active mask, and %gpubpf_whole is true if all lanes of the
 * warp are active. The injector computes both once for all places that the same lanes pass
 * (backends/cuda/ptx/passes/active_mask.c).
 */
#include <stdlib.h>
#include <string.h>

#include "passes.h"

#define ACTIVE "llvm.nvvm.activemask"
/* name prefix of functions whose result is the same in all lanes of the mask that they receive */
#define VOTE "llvm.nvvm.vote."
/* name prefix of functions whose result is a constant for each call instruction */
#define CONSTANT "llvm.is.constant."
#define MAX_DEPTH 8                       /* largest depth of the search through a condition's operands */
#define MAX_BLOCKS 64                     /* largest number of blocks that a search visits on the paths to a block */

/* State of one search. lanes[i]: mask of the lanes that are active in block[i] (i32), or NULL if it is not known. */
struct search {
	struct low *l;
	/* mask of the active lanes at the function's entry (i32), or NULL if it is not known */
	LLVMValueRef entry_lanes;
	LLVMBasicBlockRef block[MAX_BLOCKS];
	LLVMValueRef lanes[MAX_BLOCKS];
	unsigned n;
};

static unsigned mark(const struct low *l)
{
	return LLVMGetMDKindIDInContext(l->ctx, "gpubpf.same", 11);
}

void low_mark_uniform(struct low *l, LLVMValueRef given)
{
	LLVMSetMetadata(given, mark(l), LLVMMetadataAsValue(l->ctx, LLVMMDNodeInContext2(l->ctx, NULL, 0)));
}

static bool calls(LLVMValueRef v, const char *name)
{
	LLVMValueRef fn = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
	const char *called;
	size_t len;

	if (!fn || !LLVMIsAFunction(fn))
		return false;
	called = LLVMGetValueName2(fn, &len);
	return len >= strlen(name) && !memcmp(called, name, strlen(name));
}

/* Returns true if v is the same in all lanes of the mask `lanes`. */
static bool is_uniform(const struct low *l, LLVMValueRef v, LLVMValueRef lanes, int steps)
{
	if (LLVMIsAConstantInt(v) || v == lanes)
		return true;
	if (!LLVMIsAInstruction(v) || steps == MAX_DEPTH)
		return false;
	if (LLVMIsACallInst(v))
		return LLVMGetMetadata(v, mark(l)) || calls(v, CONSTANT) ||
		       (calls(v, VOTE) && LLVMGetOperand(v, 0) == lanes);
	if (!LLVMIsACastInst(v) && !LLVMIsABinaryOperator(v) && !LLVMIsASelectInst(v) && !LLVMIsAICmpInst(v))
		return false;
	for (int i = 0; i < LLVMGetNumOperands(v); i++)
		if (!is_uniform(l, LLVMGetOperand(v, i), lanes, steps + 1))
			return false;
	return true;
}

/* Returns true if all lanes that reach the terminator `end` of a block continue at the same successor. */
static bool is_uniform_branch(const struct low *l, LLVMValueRef end, LLVMValueRef lanes)
{
	if (LLVMIsASwitchInst(end))
		return is_uniform(l, LLVMGetOperand(end, 0), lanes, 0);
	return LLVMIsABranchInst(end) && (!LLVMIsConditional(end) || is_uniform(l, LLVMGetCondition(end), lanes, 0));
}

static LLVMValueRef lanes_at(struct search *search, LLVMBasicBlockRef block);

/*
 * Returns the last read of the active mask in the block before `insn`, or in the whole block if `insn` is NULL. If
 * there is no such read, returns the mask that is known at the block's start, or NULL.
 */
static LLVMValueRef lanes_before(struct search *search, LLVMBasicBlockRef block, LLVMValueRef insn)
{
	LLVMValueRef i = insn ? LLVMGetPreviousInstruction(insn) : LLVMGetLastInstruction(block);

	while (i && !calls(i, ACTIVE))
		i = LLVMGetPreviousInstruction(i);
	return i ? i : lanes_at(search, block);
}

/*
 * Returns the mask of the lanes that reach a block on an edge, or NULL. `use` is a use of the block; it is an edge if
 * the user is a terminator.
 */
static LLVMValueRef lanes_on_edge(struct search *search, LLVMUseRef use)
{
	LLVMValueRef end = LLVMGetUser(use), lanes;

	lanes = LLVMIsATerminatorInst(end) ? lanes_before(search, LLVMGetInstructionParent(end), NULL) : NULL;
	return lanes && is_uniform_branch(search->l, end, lanes) ? lanes : NULL;
}

static LLVMValueRef lanes_at(struct search *search, LLVMBasicBlockRef block)
{
	LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
	LLVMValueRef lanes;
	unsigned at;

	for (at = 0; at < search->n; at++)
		if (search->block[at] == block)
			return search->lanes[at];
	if (!use)
		return LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(block)) == block ? search->entry_lanes : NULL;
	if (at == MAX_BLOCKS)
		return NULL;
	search->block[search->n] = block;
	/* NULL while the block's predecessors are searched, because a cycle supplies no mask */
	search->lanes[search->n++] = NULL;
	lanes = lanes_on_edge(search, use);
	while (lanes && (use = LLVMGetNextUse(use)))
		lanes = lanes_on_edge(search, use) == lanes ? lanes : NULL;
	return search->lanes[at] = lanes;
}

/* -- blocks for which only some edges have a known mask -- */

static LLVMValueRef read_active_mask(struct low *l, LLVMValueRef like)
{
	LLVMValueRef fn = LLVMGetCalledValue(like);

	return LLVMBuildCall2(l->b, LLVMGlobalGetValueType(fn), fn, NULL, 0, "");
}

/* Inserts a block, which reads the active mask, on an edge of the terminator. Returns the read. */
static LLVMValueRef read_mask_on_edge(struct low *l, LLVMValueRef end, unsigned successor, LLVMValueRef like)
{
	LLVMBasicBlockRef to = LLVMGetSuccessor(end, successor), between = LLVMInsertBasicBlockInContext(l->ctx, to, "");
	LLVMValueRef lanes;

	LLVMPositionBuilderAtEnd(l->b, between);
	lanes = read_active_mask(l, like);
	LLVMBuildBr(l->b, to);
	LLVMSetSuccessor(end, successor, between);
	return lanes;
}

/*
 * Returns the block's predecessor if it is the only one and all its lanes continue in this block. Otherwise returns
 * NULL.
 */
static LLVMBasicBlockRef single_predecessor(const struct low *l, LLVMBasicBlockRef block)
{
	LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
	LLVMValueRef end = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;

	return end && LLVMIsATerminatorInst(end) && is_uniform_branch(l, end, NULL) ? LLVMGetInstructionParent(end) : NULL;
}

/*
 * Looks for a known mask on some edges into the block, or into a block that dominates it. Inserts reads on the other
 * edges and returns a phi of all masks. Returns NULL if this is not possible.
 */
static LLVMValueRef insert_mask_phi(struct low *l, struct search *search, LLVMValueRef mask_read)
{
	LLVMBasicBlockRef block = LLVMGetInstructionParent(mask_read), from[MAX_BLOCKS], before;
	LLVMValueRef ends[MAX_BLOCKS], lanes[MAX_BLOCKS], joined;
	unsigned n = 0, known = 0;

	for (unsigned i = 0; i < MAX_BLOCKS && (before = single_predecessor(l, block)); i++)
		block = before;
	for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use; use = LLVMGetNextUse(use)) {
		if (n == MAX_BLOCKS || !LLVMIsATerminatorInst(LLVMGetUser(use)) || LLVMIsASwitchInst(LLVMGetUser(use)))
			return NULL;
		ends[n] = LLVMGetUser(use);
		lanes[n] = lanes_on_edge(search, use);
		known += !!lanes[n++];
	}
	if (!known || LLVMIsAPHINode(LLVMGetFirstInstruction(block)))
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		from[i] = LLVMGetInstructionParent(ends[i]);
		if (!lanes[i]) {
			lanes[i] = read_mask_on_edge(l, ends[i], LLVMGetSuccessor(ends[i], 0) != block, mask_read);
			from[i] = LLVMGetInstructionParent(lanes[i]);
		}
	}
	LLVMPositionBuilderBefore(l->b, LLVMGetFirstInstruction(block));
	joined = LLVMBuildPhi(l->b, l->i32, "");
	LLVMAddIncoming(joined, lanes, from, n);
	return joined;
}

static void reuse_masks(struct low *l, LLVMBasicBlockRef block, LLVMValueRef entry_lanes)
{
	for (LLVMValueRef i = LLVMGetFirstInstruction(block), next, lanes; i; i = next) {
		struct search search = { .l = l, .entry_lanes = entry_lanes };

		next = LLVMGetNextInstruction(i);
		if (!calls(i, ACTIVE))
			continue;
		lanes = lanes_before(&search, block, i);
		if (!lanes)
			lanes = insert_mask_phi(l, &search, i);
		if (!lanes)
			continue;
		LLVMReplaceAllUsesWith(i, lanes);
		LLVMInstructionEraseFromParent(i);
	}
}

static void reuse_masks_in_blocks(struct low *l, LLVMValueRef fn, LLVMValueRef entry_lanes)
{
	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
		reuse_masks(l, block, entry_lanes);
}

/* Returns true if fn is a site's body for places at single instructions. */
static bool is_at_insns(const struct low *l, LLVMValueRef fn)
{
	static const char inlined[] = "gpubpf_inline_";
	size_t len;
	const char *name = LLVMGetValueName2(fn, &len);

	return l->opts->keeps_sums && !l->job->checked && !strncmp(name, inlined, sizeof(inlined) - 1) &&
	       gpubpf_place_kind(l->job->sites[strtoul(name + sizeof(inlined) - 1, NULL, 10)].site)->where ==
		       GPUBPF_WHERE_INSN;
}

static bool compares_full_mask(LLVMValueRef user, LLVMValueRef lanes)
{
	LLVMValueRef other;

	if (!LLVMIsAICmpInst(user) || (LLVMGetICmpPredicate(user) != LLVMIntEQ && LLVMGetICmpPredicate(user) != LLVMIntNE))
		return false;
	other = LLVMGetOperand(user, LLVMGetOperand(user, 0) == lanes);
	return LLVMIsAConstantInt(other) && LLVMConstIntGetSExtValue(other) == -1;
}

/* Returns true if v is a phi whose values are only reads of the active mask and `entry_lanes`. */
static bool is_mask_phi(LLVMValueRef v, LLVMValueRef entry_lanes)
{
	bool is = LLVMIsAPHINode(v);

	for (unsigned i = 0; is && i < LLVMCountIncoming(v); i++)
		is = LLVMGetIncomingValue(v, i) == entry_lanes || calls(LLVMGetIncomingValue(v, i), ACTIVE);
	return is;
}

/*
 * Returns an i1: whether the mask `lanes` has all lanes of the warp. `lanes` is entry_lanes, a read of the active mask,
 * or a phi of these.
 */
static LLVMValueRef is_full_warp(struct low *l, LLVMValueRef lanes, LLVMValueRef entry_lanes, LLVMValueRef whole)
{
	LLVMValueRef phi, is;

	if (lanes == entry_lanes)
		return whole;
	if (!LLVMIsAPHINode(lanes)) {
		LLVMPositionBuilderBefore(l->b, LLVMGetNextInstruction(lanes));
		return LLVMBuildICmp(l->b, LLVMIntEQ, lanes, LLVMConstAllOnes(l->i32), "");
	}
	LLVMPositionBuilderBefore(l->b, lanes);
	phi = LLVMBuildPhi(l->b, LLVMTypeOf(whole), "");
	for (unsigned i = 0; i < LLVMCountIncoming(lanes); i++) {
		LLVMBasicBlockRef from = LLVMGetIncomingBlock(lanes, i);

		is = is_full_warp(l, LLVMGetIncomingValue(lanes, i), entry_lanes, whole);
		LLVMAddIncoming(phi, &is, &from, 1);
	}
	return phi;
}

/*
 * Replaces comparisons of the mask with the full warp by %gpubpf_whole, so that they are not computed at every place.
 */
static void replace_full_mask_tests(struct low *l, LLVMValueRef lanes, LLVMValueRef entry_lanes, LLVMValueRef whole)
{
	LLVMValueRef all = NULL;

	for (LLVMUseRef use = LLVMGetFirstUse(lanes), next; use; use = next) {
		LLVMValueRef user = LLVMGetUser(use);

		next = LLVMGetNextUse(use);
		if (lanes == entry_lanes && is_mask_phi(user, entry_lanes))
			replace_full_mask_tests(l, user, entry_lanes, whole);
		if (!compares_full_mask(user, lanes))
			continue;
		if (!all)
			all = is_full_warp(l, lanes, entry_lanes, whole);
		LLVMPositionBuilderBefore(l->b, user);
		LLVMReplaceAllUsesWith(user, LLVMGetICmpPredicate(user) == LLVMIntEQ ? all : LLVMBuildNot(l->b, all, ""));
		LLVMInstructionEraseFromParent(user);
	}
}

static void erase_unused(LLVMValueRef v)
{
	if (!LLVMGetFirstUse(v))
		LLVMInstructionEraseFromParent(v);
}

/* Processes a site's body for places at single instructions. */
static void process_insn_place(struct low *l, LLVMValueRef fn)
{
	LLVMValueRef entry_lanes, read, whole;

	LLVMPositionBuilderBefore(l->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
	entry_lanes = low_read_register(l, "%gpubpf_came", 4);
	read = low_read_with(l, "selp.b32 $0, 1, 0, %s;", "%gpubpf_whole", 4);
	whole = LLVMBuildICmp(l->b, LLVMIntNE, read, low_const32(l, 0), "");
	reuse_masks_in_blocks(l, fn, entry_lanes);
	replace_full_mask_tests(l, entry_lanes, entry_lanes, whole);
	erase_unused(whole);
	erase_unused(read);
	erase_unused(entry_lanes);
}

/*
 * Returns true if no program of the job can end threads. After such an end, an earlier mask would include lanes that
 * have exited.
 */
static bool has_no_thread_end(const struct gpubpf_lower_job *job)
{
	for (uint32_t i = 0; i < job->nsites; i++)
		for (uint32_t k = 0; k < job->sites[i].nprogs; k++) {
			const struct gpubpf_facts *facts = job->unit->progs[job->sites[i].progs[k]].facts;

			if (!facts || facts->ends_thread)
				return false;
		}
	return true;
}

void low_reuse_active_masks(struct low *l)
{
	if (!has_no_thread_end(l->job))
		return;
	for (LLVMValueRef fn = LLVMGetFirstFunction(l->mod); fn; fn = LLVMGetNextFunction(fn))
		if (is_at_insns(l, fn))
			process_insn_place(l, fn);
		else
			reuse_masks_in_blocks(l, fn, NULL);
}
