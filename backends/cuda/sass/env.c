/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the environment of probes. Its words are in c[0x3], as in twins of the ptx target. The probe reads the
 * kernel's arguments in c[0x0], where the launch stores them. The number of the kernel is a word too. So probes of many
 * kernels have the same text, which is assembled once.
 *
 * The probe is itself a kernel, with one parameter. That parameter begins at the same offset as the parameters of the
 * probed kernel. To read the arguments of the probed kernel, the probe reads beyond the end of this parameter.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/lower/ctx.h"
#include "emit.h"
#include "backends/cuda/sass/probe/place_values.h"
#include "backends/cuda/sass/cubin/params.h"

static LLVMValueRef load_param(struct low *l, uint32_t param, uint32_t off, uint32_t bytes)
{
	const struct sass_emit *e = (const struct sass_emit *)l->target;
	const struct gpubpf_site_desc *site = &l->job->sites[e->site];
	char name[48];

	snprintf(name, sizeof(name), "gpubpf_inline_%u_param_0", e->site);
	return cuda_load_param(l, name, sass_param_off(e->arch, site->params, param) + off, bytes);
}

static LLVMValueRef asm_call(struct low *l, const char *text, const char *constraints, LLVMValueRef *arg)
{
	LLVMTypeRef word = low_int(l, 8), type = LLVMFunctionType(word, &word, arg ? 1 : 0, false);
	LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), false, false,
					     LLVMInlineAsmDialectATT, false);

	return LLVMBuildCall2(l->b, type, code, arg, arg ? 1 : 0, "");
}

/* Emits the load of a place value from its reserved local address (backends/cuda/sass/probe/place_values.h). If the
 * assembler must not treat the value as uniform, the lane number is part of the address. */
static LLVMValueRef emit_value_load(struct low *l, enum sass_input value)
{
	unsigned off = SASS_INPUT_BASE + value * SASS_INPUT_STRIDE;
	LLVMValueRef lane;
	char text[60];

	if (!sass_input_looks_per_lane(value)) {
		snprintf(text, sizeof(text), "ld.local.u64 $0, [%u];", off);
		return asm_call(l, text, "=l", NULL);
	}
	lane = asm_call(l, "cvt.u64.u32 $0, %laneid;", "=l", NULL);
	snprintf(text, sizeof(text), "ld.local.u64 $0, [$1+%u];", off);
	return asm_call(l, text, "=l,l", &lane);
}

static void set_operands(struct low *l, enum gpubpf_site site, LLVMValueRef env)
{
	for (uint32_t f = 0; f < ctx_nfields; f++)
		for (uint32_t i = 0; i < ctx_fields[f].count; i++) {
			uint32_t word = ctx_field_word(&ctx_fields[f], i, site);
			enum sass_input value = sass_find_input(ctx_fields[f].name, i);

			if (word != UINT32_MAX && value < SASS_NINPUTS)
				low_env_set(l, env, sizeof(struct gpubpf_env) + 8 * word, emit_value_load(l, value));
		}
}

/* Registers that the twin has in addition to the registers of the kernel and of the probe. The hardware counts two
 * (REGCOUNT_EXTRA - 1 in backends/cuda/sass/analysis/live.c). One is for lanes that reach an exit separately
 * (backends/cuda/sass/rewrite/patch.c). One is a margin. */
#define TWIN_EXTRA_REGS 4

/* Limits the registers of the probe; the assembler spills the values that do not fit to local memory. */
static void limit_registers(struct low *l, uint32_t registers)
{
	LLVMValueRef entry = LLVMGetBasicBlockParent(LLVMGetInsertBlock(l->b));
	char most[16];

	snprintf(most, sizeof(most), "%u", registers - TWIN_EXTRA_REGS);
	LLVMAddAttributeAtIndex(entry, LLVMAttributeFunctionIndex,
				LLVMCreateStringAttribute(l->ctx, "nvvm.maxnreg", 12, most, strlen(most)));
}

/* Emits an EXIT for all lanes of the block except the lane with index 0 on all axes. Every block has such a lane. */
static void emit_exit_unless_first(struct low *l)
{
	static const char text[] =
		"{\n.reg .pred %p;\n.reg .b32 %x, %y;\nmov.u32 %x, %tid.x;\nmov.u32 %y, %tid.y;\nor.b32 %x, %x, %y;\n"
		"mov.u32 %y, %tid.z;\nor.b32 %x, %x, %y;\nsetp.ne.u32 %p, %x, 0;\n@%p exit;\n}";
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(l->ctx), NULL, 0, false);

	LLVMBuildCall2(l->b, type,
		       LLVMGetInlineAsm(type, text, strlen(text), "~{memory}", strlen("~{memory}"), true, false,
					LLVMInlineAsmDialectATT, false),
		       NULL, 0, "");
}

void sass_inline_env(struct low *l, uint32_t site, LLVMValueRef env)
{
	struct sass_emit *e = (struct sass_emit *)l->target;

	e->site = site;
	if (l->job->sites[site].site == GPUBPF_SITE_BLOCK_BEGIN)
		emit_exit_unless_first(l);
	if (l->job->registers > TWIN_EXTRA_REGS)
		limit_registers(l, l->job->registers);
	low_env_set(l, env, offsetof(struct gpubpf_env, kernel_id), cuda_load_word(l, "gpubpf_kernel"));
	cuda_inline_env_by(l, site, env, load_param, set_operands);
}

/* -- per-lane registers -- */

#define MIN_LARGE_BLOCKS 8         /* minimum number of basic blocks of a large function */

/* Emits a value that is 0, computed so that the assembler does not know that it is uniform. */
static LLVMValueRef emit_lane_zero(struct low *l)
{
	static const char text[] =
		"{\n.reg .b32 %a, %b;\nmov.u32 %a, %lanemask_eq;\nsub.u32 %b, %a, 1;\nand.b32 $0, %a, %b;\n}";
	LLVMTypeRef type = LLVMFunctionType(l->i32, NULL, 0, false);
	LLVMValueRef zero = LLVMBuildCall2(l->b, type,
					   LLVMGetInlineAsm(type, text, strlen(text), "=r", strlen("=r"), false, false,
							    LLVMInlineAsmDialectATT, false),
					   NULL, 0, "");

	return LLVMBuildZExt(l->b, zero, low_int(l, 8), "");
}

/* Adds `zero` to the uniform value `same`, and replaces all uses of `same` by the sum. The assembler then treats the
 * values computed from the sum as per-lane values. */
static void add_lane_zero(struct low *l, LLVMValueRef same, LLVMValueRef zero)
{
	LLVMValueRef own;

	LLVMPositionBuilderBefore(l->b, LLVMGetNextInstruction(same));
	own = LLVMBuildAdd(l->b, LLVMGetUndef(LLVMTypeOf(same)), LLVMBuildTrunc(l->b, zero, LLVMTypeOf(same), ""), "");
	LLVMReplaceAllUsesWith(same, own);
	LLVMSetOperand(own, 0, same);
}

/* Does the instruction read a word of the twin, or the number of the multiprocessor or of the block? */
static bool is_uniform_read(LLVMValueRef insn)
{
	static const char *const registers[] = { "smid",     "ctaid.x",  "ctaid.y", "ctaid.z",
						 "nctaid.x", "nctaid.y", "nctaid.z" };
	static const char prefix[] = "llvm.nvvm.read.ptx.sreg.";
	LLVMValueRef callee = LLVMIsACallInst(insn) ? LLVMGetCalledValue(insn) : NULL;
	const char *name = "";
	size_t len = 0;

	if (LLVMIsALoadInst(insn))
		return LLVMIsAGlobalVariable(LLVMGetOperand(insn, 0)) &&
		       LLVMGetTypeKind(LLVMTypeOf(insn)) == LLVMIntegerTypeKind &&
		       LLVMGetIntTypeWidth(LLVMTypeOf(insn)) == 64;
	if (callee && LLVMIsAFunction(callee))
		name = LLVMGetValueName2(callee, &len);
	for (size_t i = 0; i < sizeof(registers) / sizeof(*registers); i++)
		if (len == strlen(prefix) + strlen(registers[i]) && !memcmp(name, prefix, strlen(prefix)) &&
		    !strcmp(name + strlen(prefix), registers[i]))
			return true;
	return false;
}

static void make_per_lane(struct low *l, LLVMValueRef fn)
{
	LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(fn);
	LLVMValueRef zero;

	LLVMPositionBuilderBefore(l->b, LLVMGetFirstInstruction(entry));
	zero = emit_lane_zero(l);
	for (LLVMBasicBlockRef block = entry; block; block = LLVMGetNextBasicBlock(block))
		for (LLVMValueRef insn = LLVMGetFirstInstruction(block); insn; insn = LLVMGetNextInstruction(insn))
			if (is_uniform_read(insn))
				add_lane_zero(l, insn, zero);
}

/* In large functions, turns uniform values into per-lane values. The assembler uses uniform registers freely, but
 * backends/cuda/sass/probe/probe.c later replaces them by per-lane registers. If few registers are left, the assembler
 * can spill only values that it keeps in per-lane registers. Small functions are better without this. */
void sass_make_per_lane(struct low *l)
{
	for (LLVMValueRef fn = LLVMGetFirstFunction(l->mod); fn; fn = LLVMGetNextFunction(fn))
		if (LLVMCountBasicBlocks(fn) >= MIN_LARGE_BLOCKS)
			make_per_lane(l, fn);
}
