/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where probe code in a HIP twin finds its environment: the arena in a word of the twin's own memory, arguments
 * in the kernel's own, and behind these the launch and the thread that launched (backends/hip/wire/bind.h). What a place
 * gives is in registers (operands.h).
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "backends/hip/wire/bind.h"
#include "core/lower/ctx.h"
#include "core/lower/llvm_low.h"
#include "emit.h"
#include "operands.h"

#define CONST_SPACE 4 /* AMDGPU: memory that no kernel changes */

static LLVMValueRef arguments(struct low *l)
{
	static const char name[] = "llvm.amdgcn.kernarg.segment.ptr";
	LLVMTypeRef type = LLVMFunctionType(LLVMPointerTypeInContext(l->ctx, CONST_SPACE), NULL, 0, false);
	LLVMValueRef fn = LLVMGetNamedFunction(l->mod, name);

	if (!fn)
		fn = LLVMAddFunction(l->mod, name, type);
	return LLVMBuildCall2(l->b, type, fn, NULL, 0, "args");
}

static LLVMValueRef load(struct low *l, LLVMValueRef args, uint32_t off, uint32_t bytes)
{
	LLVMValueRef v = LLVMBuildLoad2(l->b, low_int(l, bytes), low_byte_ptr(l, args, low_const32(l, off)), "");

	LLVMSetAlignment(v, bytes);
	return LLVMBuildZExt(l->b, v, low_int(l, 8), "");
}

static LLVMValueRef load_param(struct low *l, uint32_t param, uint32_t off, uint32_t bytes)
{
	return load(l, arguments(l), hip_emit_of(l->target)->offsets[param] + off, bytes);
}

uint32_t hip_wanted_args(const struct gpubpf_lower_job *job)
{
	struct low_wants w = { 0 };

	for (uint32_t s = 0; s < job->nsites; s++)
		low_wants_add(&w, job, s);
	return (w.launch ? HIP_BIND_LAUNCH : 0) | (w.pid ? HIP_BIND_PID : 0);
}

static LLVMValueRef asm_call(struct low *l, const char *text, const char *constraints)
{
	LLVMTypeRef type = LLVMFunctionType(l->i32, NULL, 0, false);
	LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), false, false,
					     LLVMInlineAsmDialectATT, false);

	return LLVMBuildZExt(l->b, LLVMBuildCall2(l->b, type, code, NULL, 0, ""), low_int(l, 8), "");
}

static LLVMValueRef given(struct low *l, uint32_t half)
{
	char text[40];

	snprintf(text, sizeof(text), "v_mov_b32 $0, v%u", HIP_GIVEN + half);
	return asm_call(l, text, "=v");
}

static LLVMValueRef same(struct low *l, uint32_t at)
{
	char text[40];

	snprintf(text, sizeof(text), "v_readlane_b32 $0, v%u, %u", HIP_SAME_REGISTER, at);
	return asm_call(l, text, "=s");
}

static LLVMValueRef both(struct low *l, LLVMValueRef low, LLVMValueRef high)
{
	return LLVMBuildOr(l->b, low, LLVMBuildShl(l->b, high, low_const(l, 32), ""), "");
}

static LLVMValueRef operand_of(struct low *l, const struct hip_operand *operand, uint32_t i)
{
	if (!operand->same)
		return both(l, given(l, operand->at + 2 * i), given(l, operand->at + 2 * i + 1));
	return operand->at < HIP_NCONSTANTS ? same(l, operand->at) : both(l, same(l, operand->at), same(l, operand->at + 1));
}

static void set_operands(struct low *l, enum gpubpf_site site, LLVMValueRef env)
{
	for (uint32_t f = 0; f < ctx_nfields; f++)
		for (uint32_t i = 0; i < ctx_fields[f].count; i++) {
			uint32_t word = ctx_field_word(&ctx_fields[f], i, site);

			if (word != UINT32_MAX)
				low_env_set(l, env, sizeof(struct gpubpf_env) + 8 * word,
					    operand_of(l, hip_operand_of(ctx_fields[f].name), i));
		}
}

void hip_inline_env(struct low *l, uint32_t index, LLVMValueRef env)
{
	const struct hip_emit *emit = hip_emit_of(l->target);
	LLVMValueRef args = arguments(l);
	struct low_wants w = { 0 };

	low_wants_add(&w, l->job, index);
	low_env_set(l, env, offsetof(struct gpubpf_env, arena),
		    low_env_word(l, "gpubpf_arena", CONST_SPACE, LLVMHiddenVisibility));
	if (w.launch)
		low_env_set(l, env, offsetof(struct gpubpf_env, launch), load(l, args, emit->launch, 8));
	if (w.pid)
		low_env_set(l, env, offsetof(struct gpubpf_env, pid_tgid), load(l, args, emit->pid, 8));
	low_env_arguments(l, &l->job->sites[index], &w, env, load_param);
	set_operands(l, l->job->sites[index].site, env);
}

void hip_inline_end(struct low *l)
{
	gpubpf_diag_set(l->diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
			"helper 507 cannot end single threads of AMD machine code");
}
