/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lanes are here, asked once. Those of a warp that were active at one point are those that are at a later one, where all ways
 * between go by branches that lanes take together: on what is the same in all of them, as what the text of a place says or what a
 * vote gave. There the first answer is taken for the second. Where that is so of some of the ways to a block, of which a place's text
 * may leave these alone, lanes ask on the others.
 *
 * Those that come to a place at an instruction are in %gpubpf_came, and %gpubpf_whole says whether that is the whole warp: the
 * injector asks once for all places that the same lanes pass (backends/cuda/ptx/came.c).
 */
#include <stdlib.h>
#include <string.h>

#include "llvm_low.h"

#define ACTIVE "llvm.nvvm.activemask"
#define VOTE "llvm.nvvm.vote."            /* one result, of the lanes that its mask names */
#define CONSTANT "llvm.is.constant."      /* of an instruction */
#define MOST 8                            /* steps from a condition to what it is made of */
#define MOST_BLOCKS 64                    /* on the ways to one */

/* Of blocks, the lanes that come to them, i32; NULL: who that is, is not known. */
struct ways {
	struct low *l;
	LLVMValueRef came;                /* those that come to the function; NULL: it is not said */
	LLVMBasicBlockRef block[MOST_BLOCKS];
	LLVMValueRef lanes[MOST_BLOCKS];
	unsigned n;
};

static unsigned mark(const struct low *l)
{
	return LLVMGetMDKindIDInContext(l->ctx, "gpubpf.same", 11);
}

void low_mark_same(struct low *l, LLVMValueRef given)
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

/* In those lanes. */
static bool is_same(const struct low *l, LLVMValueRef v, LLVMValueRef lanes, int steps)
{
	if (LLVMIsAConstantInt(v) || v == lanes)
		return true;
	if (!LLVMIsAInstruction(v) || steps == MOST)
		return false;
	if (LLVMIsACallInst(v))
		return LLVMGetMetadata(v, mark(l)) || calls(v, CONSTANT) || (calls(v, VOTE) && LLVMGetOperand(v, 0) == lanes);
	if (!LLVMIsACastInst(v) && !LLVMIsABinaryOperator(v) && !LLVMIsASelectInst(v) && !LLVMIsAICmpInst(v))
		return false;
	for (int i = 0; i < LLVMGetNumOperands(v); i++)
		if (!is_same(l, LLVMGetOperand(v, i), lanes, steps + 1))
			return false;
	return true;
}

/* Do the lanes that come to a block's end all go on to one block? */
static bool goes_together(const struct low *l, LLVMValueRef end, LLVMValueRef lanes)
{
	if (LLVMIsASwitchInst(end))
		return is_same(l, LLVMGetOperand(end, 0), lanes, 0);
	return LLVMIsABranchInst(end) && (!LLVMIsConditional(end) || is_same(l, LLVMGetCondition(end), lanes, 0));
}

static LLVMValueRef lanes_at(struct ways *ways, LLVMBasicBlockRef block);

/* The last answer before an instruction, or, without one, where the block ends. */
static LLVMValueRef lanes_before(struct ways *ways, LLVMBasicBlockRef block, LLVMValueRef insn)
{
	LLVMValueRef i = insn ? LLVMGetPreviousInstruction(insn) : LLVMGetLastInstruction(block);

	while (i && !calls(i, ACTIVE))
		i = LLVMGetPreviousInstruction(i);
	return i ? i : lanes_at(ways, block);
}

/* Those that come by this use of a block. */
static LLVMValueRef lanes_by(struct ways *ways, LLVMUseRef use)
{
	LLVMValueRef end = LLVMGetUser(use), lanes;

	lanes = LLVMIsATerminatorInst(end) ? lanes_before(ways, LLVMGetInstructionParent(end), NULL) : NULL;
	return lanes && goes_together(ways->l, end, lanes) ? lanes : NULL;
}

static LLVMValueRef lanes_at(struct ways *ways, LLVMBasicBlockRef block)
{
	LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
	LLVMValueRef lanes;
	unsigned at;

	for (at = 0; at < ways->n; at++)
		if (ways->block[at] == block)
			return ways->lanes[at];
	if (!use)
		return LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(block)) == block ? ways->came : NULL;
	if (at == MOST_BLOCKS)
		return NULL;
	ways->block[ways->n] = block;
	ways->lanes[ways->n++] = NULL; /* while it is looked for: a way that goes round is none */
	lanes = lanes_by(ways, use);
	while (lanes && (use = LLVMGetNextUse(use)))
		lanes = lanes_by(ways, use) == lanes ? lanes : NULL;
	return ways->lanes[at] = lanes;
}

/* -- of some ways -- */

static LLVMValueRef ask(struct low *l, LLVMValueRef like)
{
	LLVMValueRef fn = LLVMGetCalledValue(like);

	return LLVMBuildCall2(l->b, LLVMGlobalGetValueType(fn), fn, NULL, 0, "");
}

/* The block's terminator goes to another one instead, where lanes ask before they come to it. */
static LLVMValueRef ask_between(struct low *l, LLVMValueRef end, unsigned successor, LLVMValueRef like)
{
	LLVMBasicBlockRef to = LLVMGetSuccessor(end, successor), between = LLVMInsertBasicBlockInContext(l->ctx, to, "");
	LLVMValueRef lanes;

	LLVMPositionBuilderAtEnd(l->b, between);
	lanes = ask(l, like);
	LLVMBuildBr(l->b, to);
	LLVMSetSuccessor(end, successor, between);
	return lanes;
}

/* The block from which all lanes come to this one; NULL: they come from several, or not all. */
static LLVMBasicBlockRef only_before(const struct low *l, LLVMBasicBlockRef block)
{
	LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
	LLVMValueRef end = use && !LLVMGetNextUse(use) ? LLVMGetUser(use) : NULL;

	return end && LLVMIsATerminatorInst(end) && goes_together(l, end, NULL) ? LLVMGetInstructionParent(end) : NULL;
}

/* Who is there is known of some of the ways to a block before that one: lanes ask on the others, and the answer is of both. */
static LLVMValueRef ask_on_others(struct low *l, struct ways *ways, LLVMValueRef asks)
{
	LLVMBasicBlockRef block = LLVMGetInstructionParent(asks), from[MOST_BLOCKS], before;
	LLVMValueRef ends[MOST_BLOCKS], lanes[MOST_BLOCKS], answer;
	unsigned n = 0, known = 0;

	for (unsigned i = 0; i < MOST_BLOCKS && (before = only_before(l, block)); i++)
		block = before;
	for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use; use = LLVMGetNextUse(use)) {
		if (n == MOST_BLOCKS || !LLVMIsATerminatorInst(LLVMGetUser(use)) || LLVMIsASwitchInst(LLVMGetUser(use)))
			return NULL;
		ends[n] = LLVMGetUser(use);
		lanes[n] = lanes_by(ways, use);
		known += !!lanes[n++];
	}
	if (!known || LLVMIsAPHINode(LLVMGetFirstInstruction(block)))
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		from[i] = LLVMGetInstructionParent(ends[i]);
		if (!lanes[i]) {
			lanes[i] = ask_between(l, ends[i], LLVMGetSuccessor(ends[i], 0) != block, asks);
			from[i] = LLVMGetInstructionParent(lanes[i]);
		}
	}
	LLVMPositionBuilderBefore(l->b, LLVMGetFirstInstruction(block));
	answer = LLVMBuildPhi(l->b, l->i32, "");
	LLVMAddIncoming(answer, lanes, from, n);
	return answer;
}

static void ask_once(struct low *l, LLVMBasicBlockRef block, LLVMValueRef came)
{
	for (LLVMValueRef i = LLVMGetFirstInstruction(block), next, lanes; i; i = next) {
		struct ways ways = { .l = l, .came = came };

		next = LLVMGetNextInstruction(i);
		if (!calls(i, ACTIVE))
			continue;
		lanes = lanes_before(&ways, block, i);
		if (!lanes)
			lanes = ask_on_others(l, &ways, i);
		if (!lanes)
			continue;
		LLVMReplaceAllUsesWith(i, lanes);
		LLVMInstructionEraseFromParent(i);
	}
}

static void ask_in_blocks(struct low *l, LLVMValueRef fn, LLVMValueRef came)
{
	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
		ask_once(l, block, came);
}

/* Is it what a place at an instruction runs? */
static bool is_at_insns(const struct low *l, LLVMValueRef fn)
{
	static const char inlined[] = "gpubpf_inline_";
	size_t len;
	const char *name = LLVMGetValueName2(fn, &len);

	return l->opts->keeps_sums && !l->job->checked && !strncmp(name, inlined, sizeof(inlined) - 1) &&
	       gpubpf_place_kind(l->job->sites[strtoul(name + sizeof(inlined) - 1, NULL, 10)].site)->where == GPUBPF_WHERE_INSN;
}

static bool is_with_all(LLVMValueRef user, LLVMValueRef lanes)
{
	LLVMValueRef other;

	if (!LLVMIsAICmpInst(user) || (LLVMGetICmpPredicate(user) != LLVMIntEQ && LLVMGetICmpPredicate(user) != LLVMIntNE))
		return false;
	other = LLVMGetOperand(user, LLVMGetOperand(user, 0) == lanes);
	return LLVMIsAConstantInt(other) && LLVMConstIntGetSExtValue(other) == -1;
}

/* Is it a phi of answers alone? */
static bool is_of_ways(LLVMValueRef v, LLVMValueRef came)
{
	bool is = LLVMIsAPHINode(v);

	for (unsigned i = 0; is && i < LLVMCountIncoming(v); i++)
		is = LLVMGetIncomingValue(v, i) == came || calls(LLVMGetIncomingValue(v, i), ACTIVE);
	return is;
}

/* Are these lanes, came, an answer or of ways, the whole warp? i1. */
static LLVMValueRef all_of(struct low *l, LLVMValueRef lanes, LLVMValueRef came, LLVMValueRef whole)
{
	LLVMValueRef phi, is;

	if (lanes == came)
		return whole;
	if (!LLVMIsAPHINode(lanes)) {
		LLVMPositionBuilderBefore(l->b, LLVMGetNextInstruction(lanes));
		return LLVMBuildICmp(l->b, LLVMIntEQ, lanes, LLVMConstAllOnes(l->i32), "");
	}
	LLVMPositionBuilderBefore(l->b, lanes);
	phi = LLVMBuildPhi(l->b, LLVMTypeOf(whole), "");
	for (unsigned i = 0; i < LLVMCountIncoming(lanes); i++) {
		LLVMBasicBlockRef from = LLVMGetIncomingBlock(lanes, i);

		is = all_of(l, LLVMGetIncomingValue(lanes, i), came, whole);
		LLVMAddIncoming(phi, &is, &from, 1);
	}
	return phi;
}

/* Where it is asked of lanes that come to the place whether they are the whole warp: that is not reckoned at each place. */
static void say_whole(struct low *l, LLVMValueRef lanes, LLVMValueRef came, LLVMValueRef whole)
{
	LLVMValueRef all = NULL;

	for (LLVMUseRef use = LLVMGetFirstUse(lanes), next; use; use = next) {
		LLVMValueRef user = LLVMGetUser(use);

		next = LLVMGetNextUse(use);
		if (lanes == came && is_of_ways(user, came))
			say_whole(l, user, came, whole);
		if (!is_with_all(user, lanes))
			continue;
		if (!all)
			all = all_of(l, lanes, came, whole);
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

/* What a place at an instruction runs. */
static void ask_before(struct low *l, LLVMValueRef fn)
{
	LLVMValueRef came, read, whole;

	LLVMPositionBuilderBefore(l->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
	came = low_read_register(l, "%gpubpf_came", 4);
	read = low_read_by(l, "selp.b32 $0, 1, 0, %s;", "%gpubpf_whole", 4);
	whole = LLVMBuildICmp(l->b, LLVMIntNE, read, low_const32(l, 0), "");
	ask_in_blocks(l, fn, came);
	say_whole(l, came, came, whole);
	erase_unused(whole);
	erase_unused(read);
	erase_unused(came);
}

/* What ends threads may leave a mask of lanes that are gone. */
static bool all_go_on(const struct gpubpf_lower_job *job)
{
	for (uint32_t i = 0; i < job->nsites; i++)
		for (uint32_t k = 0; k < job->sites[i].nprogs; k++) {
			const struct gpubpf_facts *facts = job->unit->progs[job->sites[i].progs[k]].facts;

			if (!facts || facts->ends_thread)
				return false;
		}
	return true;
}

void low_ask_once(struct low *l)
{
	if (!all_go_on(l->job))
		return;
	for (LLVMValueRef fn = LLVMGetFirstFunction(l->mod); fn; fn = LLVMGetNextFunction(fn))
		if (is_at_insns(l, fn))
			ask_before(l, fn);
		else
			ask_in_blocks(l, fn, NULL);
}
