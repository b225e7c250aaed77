/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: combines adds of one constant to adjacent words in memory into one loop. The lanes of the warp share the words.
 * Before: low_defer_add() left a call for each such add, in programs at a GPU kernel's exit.
 * After: no such call is left.
 * Requires: the passes that fold constants have run. The target is PTX.
 *
 * If several programs at one exit each count something, they add constants to sums that are adjacent in memory
 * (maps/layout.c). If no other side effect lies between these adds, each active lane adds to its share of the words.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"

#define DEFERRED_ADD "gpubpf_later"
#define MAX_RUN_ADDS 256 /* largest number of adds that are combined at once */

/*
 * arguments of a call of DEFERRED_ADD: address, value, offset from the array's first value, map, and the library
 * function that adds
 */
enum { ADDRESS, VALUE, OFFSET, MAP, FUNCTION, NARGS };

struct deferred_add {
	LLVMValueRef call;
	const struct gpubpf_map_layout *layout;
	uint64_t at, value; /* at: arena offset of the word in the map's first replica. value: the number to add. */
};

static LLVMValueRef get_deferred_add(struct low *l, LLVMTypeRef *type)
{
	LLVMTypeRef i64 = low_int(l, 8), params[NARGS] = { i64, i64, i64, l->i32, LLVMPointerTypeInContext(l->ctx, 0) };
	LLVMValueRef fn = LLVMGetNamedFunction(l->mod, DEFERRED_ADD);

	*type = LLVMFunctionType(LLVMVoidTypeInContext(l->ctx), params, NARGS, false);
	return fn ? fn : LLVMAddFunction(l->mod, DEFERRED_ADD, *type);
}

bool low_defer_add(struct low_frame *f, uint32_t pc, LLVMValueRef address, LLVMValueRef v)
{
	const struct gpubpf_insn_facts *facts;
	LLVMTypeRef type, ignored;
	LLVMValueRef fn, args[NARGS];
	struct low *l = f->p->l;

	/* Lanes diverge in the loop of add_adjacent(). This does no harm at an exit of the kernel. */
	if (!l->opts->combines_adds || l->job->checked || f->p->site->site != GPUBPF_SITE_EXIT)
		return false;
	facts = &f->p->prog->facts->insn[pc];
	if (!(facts->flags & GPUBPF_FACT_SAME_ADDRESS) || facts->mem.spaces != GPUBPF_SPACE_MAP_VALUE ||
	    facts->mem.map < 0 || f->p->prog->insns[pc].width != 8 ||
	    !(l->job->layouts[facts->mem.map].flags & GPUBPF_LAYOUT_INTERLEAVED))
		return false;
	fn = get_deferred_add(l, &type);
	args[ADDRESS] = address;
	args[VALUE] = v;
	args[OFFSET] = LLVMBuildSub(l->b, address, low_first_value(f, facts->mem.map), "");
	args[MAP] = low_const32(l, facts->mem.map);
	args[FUNCTION] = low_library(l, "gpubpf_atomic_add_same_u64", &ignored);
	LLVMBuildCall2(l->b, type, fn, args, NARGS, "");
	return true;
}

static void build_asm(struct low *l, const char *text, const char *constraints, LLVMValueRef *args, unsigned n)
{
	LLVMTypeRef params[] = { low_int(l, 8), low_int(l, 8) };
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(l->ctx), params, n, false);

	LLVMBuildCall2(l->b, type,
		       LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), true, false,
					LLVMInlineAsmDialectATT, false),
		       args, n, "");
}

/* Emits a single add. */
static void add_one(struct low *l, const struct deferred_add *add)
{
	LLVMValueRef args[] = { LLVMGetOperand(add->call, ADDRESS), LLVMGetOperand(add->call, VALUE) };
	LLVMValueRef fn = LLVMGetOperand(add->call, FUNCTION);

	if (LLVMIsAConstantInt(args[1])) /* the assembler combines the adds of all lanes if the value is a constant */
		build_asm(l, "red.relaxed.gpu.global.add.u64 [$0], $1;", "l,l", args, 2);
	else
		LLVMBuildCall2(l->b, LLVMGlobalGetValueType(fn), fn, args, 2, "");
}

/*
 * Emits adds of a value to n adjacent words, beginning with the word of `first`. The lane with rank r among the active
 * lanes adds to words r, r + lanes, r + 2 * lanes, and so on.
 */
static void add_adjacent(struct low *l, const struct deferred_add *first, uint32_t n)
{
	static const char constraints[] = "l,l";
	LLVMValueRef args[] = { LLVMGetOperand(first->call, ADDRESS), LLVMGetOperand(first->call, VALUE) };
	char text[1000];

	snprintf(text, sizeof(text),
		 "{\n.reg .pred %%gpubpf_p;\n.reg .b32 %%gpubpf_m, %%gpubpf_n, %%gpubpf_r;\n.reg .b64 %%gpubpf_a, %%gpubpf_s;\n"
		 "activemask.b32 %%gpubpf_m;\npopc.b32 %%gpubpf_n, %%gpubpf_m;\n"
		 "mov.u32 %%gpubpf_r, %%lanemask_lt;\nand.b32 %%gpubpf_r, %%gpubpf_r, %%gpubpf_m;\npopc.b32 %%gpubpf_r, %%gpubpf_r;\n"
		 "cvt.u64.u32 %%gpubpf_s, %%gpubpf_n;\nmul.lo.s64 %%gpubpf_s, %%gpubpf_s, $1;\n"
		 "mul.wide.u32 %%gpubpf_a, %%gpubpf_r, 8;\nadd.s64 %%gpubpf_a, %%gpubpf_a, $0;\n"
		 "$$gpubpf_more:\nsetp.lt.u32 %%gpubpf_p, %%gpubpf_r, %u;\n"
		 "@%%gpubpf_p red.relaxed.gpu.global.add.u64 [%%gpubpf_a], %%gpubpf_s;\n"
		 "add.s32 %%gpubpf_r, %%gpubpf_r, %%gpubpf_n;\nmad.wide.u32 %%gpubpf_a, %%gpubpf_n, 8, %%gpubpf_a;\n"
		 "setp.lt.u32 %%gpubpf_p, %%gpubpf_r, %u;\n@%%gpubpf_p bra $$gpubpf_more;\n}",
		 n, n);
	build_asm(l, text, constraints, args, 2);
}

/* Orders adds by value, then by address, so that adds to adjacent words follow each other. */
static int compare(const void *a, const void *b)
{
	const struct deferred_add *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static bool is_adjacent(const struct deferred_add *a, const struct deferred_add *b)
{
	return a->layout && b->layout && b->at == a->at + 8 && a->value == b->value &&
	       a->layout->copies == b->layout->copies && a->layout->copy_stride == b->layout->copy_stride;
}

static void finish_run(struct low *l, struct deferred_add *run, uint32_t n)
{
	uint32_t k;

	if (!n)
		return;
	LLVMPositionBuilderBefore(l->b, LLVMGetNextInstruction(run[n - 1].call));
	qsort(run, n, sizeof(*run), compare);
	for (uint32_t i = 0; i < n; i += k) {
		for (k = 1; i + k < n && is_adjacent(&run[i + k - 1], &run[i + k]); k++)
			;
		if (k > 1)
			add_adjacent(l, &run[i], k);
		else
			add_one(l, &run[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		LLVMInstructionEraseFromParent(run[i].call);
}

/* Returns true if an add may be delayed until after this instruction. */
static bool may_delay_past(LLVMValueRef insn)
{
	LLVMOpcode op = LLVMGetInstructionOpcode(insn);
	LLVMValueRef fn = op == LLVMCall ? LLVMGetCalledValue(insn) : NULL;
	static const char *const pure[] = { "llvm.nvvm.read.ptx.sreg.smid", "llvm.umin.", "llvm.umax." };
	const char *name;
	size_t size;

	if (!fn)
		return op != LLVMStore && op != LLVMFence && op != LLVMAtomicRMW && op != LLVMAtomicCmpXchg &&
		       (op != LLVMLoad || !LLVMGetVolatile(insn)) && !LLVMIsATerminatorInst(insn);
	if (!LLVMIsAFunction(fn))
		return false;
	name = LLVMGetValueName2(fn, &size);
	for (uint32_t i = 0; i < sizeof(pure) / sizeof(pure[0]); i++)
		if (!strncmp(name, pure[i], strlen(pure[i])))
			return true;
	return false;
}

static struct deferred_add describe_add(struct low *l, LLVMValueRef call)
{
	const struct gpubpf_map_layout *layout = &l->job->layouts[LLVMConstIntGetZExtValue(LLVMGetOperand(call, MAP))];
	LLVMValueRef off = LLVMGetOperand(call, OFFSET), value = LLVMGetOperand(call, VALUE);

	if (!LLVMIsAConstantInt(off) || !LLVMIsAConstantInt(value))
		return (struct deferred_add){ call, NULL, 0, 0 };
	return (struct deferred_add){ call, layout, layout->data + LLVMConstIntGetZExtValue(off),
				      LLVMConstIntGetZExtValue(value) };
}

static void add_in_block(struct low *l, LLVMBasicBlockRef block, LLVMValueRef fn)
{
	struct deferred_add run[MAX_RUN_ADDS];
	uint32_t n = 0;

	for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
		next = LLVMGetNextInstruction(i);
		if (LLVMGetInstructionOpcode(i) == LLVMCall && LLVMGetCalledValue(i) == fn) {
			run[n++] = describe_add(l, i);
		} else if (may_delay_past(i)) {
			continue;
		} else {
			finish_run(l, run, n);
			n = 0;
		}
		if (n == MAX_RUN_ADDS) {
			finish_run(l, run, n);
			n = 0;
		}
	}
}

int low_combine_adds(struct low *l)
{
	LLVMValueRef deferred_add = LLVMGetNamedFunction(l->mod, DEFERRED_ADD);
	bool resolved_consts = low_resolve_place_consts(l), resolved_masks = low_resolve_taken_masks(l);

	if (!deferred_add && !resolved_consts && !resolved_masks)
		return 0;
	for (LLVMValueRef fn = deferred_add ? LLVMGetFirstFunction(l->mod) : NULL; fn; fn = LLVMGetNextFunction(fn))
		for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(fn); block; block = LLVMGetNextBasicBlock(block))
			add_in_block(l, block, deferred_add);
	if (deferred_add)
		LLVMDeleteFunction(deferred_add);
	return low_run_passes(l, NULL, "always-inline,globaldce,function(instcombine<no-verify-fixpoint>,simplifycfg)");
}
