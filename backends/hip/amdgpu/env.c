/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates the code that fills the environment of inlined probes in a HIP twin. The arena's address is a constant in
 * the twin's memory. The launch and the launching thread follow the kernel's own arguments (backends/hip/wire/bind.h).
 * A place's operands are in registers (backends/hip/amdgpu/rewrite/operands.h).
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "backends/hip/wire/bind.h"
#include "core/lower/ctx.h"
#include "core/lower/llvm/low.h"
#include "core/worker/functions.h"
#include "emit.h"
#include "backends/hip/amdgpu/rewrite/operands.h"

#define CONST_SPACE 4 /* AMDGPU's constant address space: memory that no kernel writes */

static LLVMValueRef load_arguments_pointer(struct low *l)
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
	return load(l, load_arguments_pointer(l), hip_emit_of(l->target)->offsets[param] + off, bytes);
}

uint32_t hip_launch_args(const struct gpubpf_lower_job *job)
{
	struct low_env_reads w = { 0 };

	for (uint32_t s = 0; s < job->nsites; s++)
		low_env_reads_add(&w, job, s);
	return (w.launch || w.marks_launch ? HIP_BIND_LAUNCH : 0) | (w.pid || w.marks_launch ? HIP_BIND_PID : 0);
}

static LLVMValueRef asm_call(struct low *l, const char *text, const char *constraints)
{
	LLVMTypeRef type = LLVMFunctionType(l->i32, NULL, 0, false);
	LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), false, false,
					     LLVMInlineAsmDialectATT, false);

	return LLVMBuildZExt(l->b, LLVMBuildCall2(l->b, type, code, NULL, 0, ""), low_int(l, 8), "");
}

static LLVMValueRef load_lane_word(struct low *l, uint32_t half)
{
	char text[40];

	snprintf(text, sizeof(text), "v_mov_b32 $0, v%u", HIP_FIRST_OPERAND + half);
	return asm_call(l, text, "=v");
}

static LLVMValueRef load_uniform_word(struct low *l, uint32_t at)
{
	char text[40];

	snprintf(text, sizeof(text), "v_readlane_b32 $0, v%u, %u", HIP_UNIFORM_REGISTER, at);
	return asm_call(l, text, "=s");
}

static LLVMValueRef concat_words(struct low *l, LLVMValueRef low, LLVMValueRef high)
{
	return LLVMBuildOr(l->b, low, LLVMBuildShl(l->b, high, low_const(l, 32), ""), "");
}

static LLVMValueRef operand_of(struct low *l, const struct hip_operand *operand, uint32_t i)
{
	if (!operand->is_uniform)
		return concat_words(l, load_lane_word(l, operand->at + 2 * i), load_lane_word(l, operand->at + 2 * i + 1));
	return operand->at < HIP_NCONSTANTS ?
		       load_uniform_word(l, operand->at) :
		       concat_words(l, load_uniform_word(l, operand->at), load_uniform_word(l, operand->at + 1));
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

/* Loads a value of `bytes` bytes from vector registers `reg` and up, in which the calling convention passes it. */
static LLVMValueRef load_registers(struct low *l, uint32_t reg, uint32_t bytes)
{
	LLVMValueRef v = bytes > 4 ? concat_words(l, load_lane_word(l, reg), load_lane_word(l, reg + 1)) :
				     load_lane_word(l, reg);

	return bytes < 4 ? LLVMBuildAnd(l->b, v, low_const(l, (1u << 8 * bytes) - 1), "") : v;
}

static LLVMValueRef unknown_value(struct low *l)
{
	return load_lane_word(l, HIP_UNKNOWN_OPERAND);
}

/* Stores a function's arguments in the environment. At a call they are in consecutive vector registers from v0 on. At a
 * return their values are unknown, because the function may have overwritten the registers. */
static void set_arguments(struct low *l, enum gpubpf_site site, const struct gpubpf_function *f, uint64_t wanted,
			  LLVMValueRef env)
{
	bool call = site == GPUBPF_SITE_CALL;
	uint32_t n = call && f ? f->nparams : 0, reg = 0;

	for (uint32_t i = 0; i < GPUBPF_ENV_ARGS; i++) {
		uint32_t size = i < n ? f->params[i].size : 0, next = reg + (size + 3) / 4;
		bool known = size && next <= HIP_UNKNOWN_OPERAND;

		if (wanted >> i & 1 && (known || !call || !f || !f->whole || i < n))
			low_env_set(l, env, offsetof(struct gpubpf_env, arg) + 8 * i,
				    known ? load_registers(l, reg, size) : unknown_value(l));
		reg = next;
	}
}

static LLVMValueRef result(struct low *l, const struct gpubpf_function *f)
{
	if (!f || !f->returns)
		return unknown_value(l);
	return f->result ? load_registers(l, 0, f->result) : low_const(l, 0);
}

static void set_function(struct low *l, uint32_t index, const struct low_env_reads *w, LLVMValueRef env)
{
	const struct gpubpf_function *f = hip_emit_of(l->target)->functions ? hip_emit_of(l->target)->functions[index] :
									      NULL;
	enum gpubpf_site site = l->job->sites[index].site;

	set_arguments(l, site, f, w->args, env);
	if (site == GPUBPF_SITE_CALL_EXIT)
		low_env_set(l, env, sizeof(struct gpubpf_env) + 8 * ctx_word_of("result", site), result(l, f));
}

void hip_inline_env(struct low *l, uint32_t index, LLVMValueRef env)
{
	const struct hip_emit *emit = hip_emit_of(l->target);
	LLVMValueRef args = load_arguments_pointer(l);
	struct low_env_reads w = { 0 };

	low_env_reads_add(&w, l->job, index);
	low_env_set(l, env, offsetof(struct gpubpf_env, arena),
		    low_env_word(l, "gpubpf_arena", CONST_SPACE, LLVMHiddenVisibility));
	if (w.launch || w.marks_launch)
		low_env_set(l, env, offsetof(struct gpubpf_env, launch), load(l, args, emit->launch, 8));
	if (w.pid || w.marks_launch)
		low_env_set(l, env, offsetof(struct gpubpf_env, pid_tgid), load(l, args, emit->pid, 8));
	if (gpubpf_place_kind(l->job->sites[index].site)->where == GPUBPF_WHERE_FUNCTION) {
		set_function(l, index, &w, env);
		return;
	}
	low_env_arguments(l, &l->job->sites[index], &w, env, load_param);
	set_operands(l, l->job->sites[index].site, env);
}

void hip_inline_end(struct low *l)
{
	gpubpf_diag_set(l->diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
			"helper 507 cannot end single threads of AMD machine code");
}
