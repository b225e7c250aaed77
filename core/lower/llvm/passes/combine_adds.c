/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: combines adds of constants to adjacent words into one loop in which each lane of the warp adds to one word.
 * Before: low_defer_add() left a call for each such add, in programs at a kernel's exit.
 * After: no such call is left.
 * Requires: the passes that fold constants have run; PTX.
 *
 * Programs at an exit that each count something add constants to sums that are adjacent in memory (maps/layout.c). If
 * no other side effect lies between such adds, the active lanes share them, one word each, by one instruction.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"

#define DEFERRED_ADD "gpubpf_later"
#define MAX_RUN_ADDS 256 /* maximum adds that are combined at once */

/* arguments of a call of DEFERRED_ADD: address, value, offset from the array's first value, map, library function that adds */
enum { ADDRESS, VALUE, OFFSET, MAP, FUNCTION, NARGS };

struct deferred_add {
	LLVMValueRef call;
	const struct gpubpf_map_layout *layout;
	uint64_t at, value; /* at: arena offset of the word in the first copy; value: the addend */
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

	/* the loop of add_adjacent() diverges, which is harmless where lanes leave the kernel */
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

	if (LLVMIsAConstantInt(args[1])) /* a constant addend: the assembler combines the adds of all lanes */
		build_asm(l, "red.relaxed.gpu.global.add.u64 [$0], $1;", "l,l", args, 2);
	else
		LLVMBuildCall2(l->b, LLVMGlobalGetValueType(fn), fn, args, 2, "");
}

/* Adds to n words, starting at the first. The lane of rank r adds to words r, r + lanes, r + 2 * lanes, and so on. */
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

/*
 * Orders by value, then by address, so that adjacent words follow each other. Adds without layout cannot be combined.
 */
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

/* May adds be delayed past this instruction? */
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
