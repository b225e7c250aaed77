/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits code that sets the environment of an inlined probe in a CUDA twin. The arena, the clock offset, the launch and
 * the launching thread are variables in the twin's constant memory, which the agent sets. Arguments are the GPU
 * kernel's own parameters. The emitted PTX names parameter i gpubpf_param_<i> and the return value gpubpf_result. The
 * function cuda_probe_extract() replaces these by the real names. Other operands are in registers named CUDA_OPERAND
 * <word>, which the injector sets at each place.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/lower/ctx.h"
#include "core/lower/llvm/low.h"
#include "core/lower/llvm/passes/passes.h"
#include "emit.h"
#include "inject.h"
#include "backends/cuda/ptx/passes/splice.h"

#define CONST_SPACE 4 /* NVPTX: .const */

static LLVMValueRef asm_call(struct low *l, const char *text, const char *constraints, LLVMTypeRef result, bool effects)
{
	LLVMTypeRef type = LLVMFunctionType(result, NULL, 0, false);
	LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), effects, false,
					     LLVMInlineAsmDialectATT, false);

	return LLVMBuildCall2(l->b, type, code, NULL, 0, "");
}

LLVMValueRef cuda_load_word(struct low *l, const char *name)
{
	return low_env_word(l, name, CONST_SPACE, LLVMDefaultVisibility);
}

LLVMValueRef cuda_load_param(struct low *l, const char *name, uint32_t off, uint32_t bytes)
{
	char text[120];
	LLVMValueRef v;

	snprintf(text, sizeof(text), "ld.param.u%u $0, [%s+%u];", 8 * bytes, name, off);
	v = asm_call(l, text, bytes == 8 ? "=l" : "=r", bytes == 8 ? low_int(l, 8) : l->i32, false);
	return LLVMBuildZExt(l->b, v, low_int(l, 8), "");
}

static void set_result(struct low *l, enum gpubpf_site site, LLVMValueRef env)
{
	LLVMValueRef result = asm_call(l, "mov.b64 $0, gpubpf_result;", "=l", low_int(l, 8), false);

	low_env_set(l, env, sizeof(struct gpubpf_env) + 8 * ctx_word_of("result", site), result);
}

/*
 * Operands of at most 32 bits. The first NUNIFORM are equal for all lanes that execute the place. Each of the first
 * NPLACE_CONSTS has one fixed value per place. The last of these,
 * "mem.bytes", is an exception: its value is fixed only at places where the register CUDA_PLACE_CONST is 1.
 */
static const char *const narrow[] = { "place",        "line",          "mem.access",   "mem.bytes",
				      "mem.space",    "mem.count",     "mem.hint",     "branch.lanes",
				      "branch.taken", "branch.active", "barrier.kind", "atomic.op" };
#define NUNIFORM 3
#define NPLACE_CONSTS 4
#define NNARROW (sizeof(narrow) / sizeof(narrow[0]))

static bool names_word(const char *const *names, size_t n, enum gpubpf_site site, uint32_t word)
{
	for (uint32_t k = 0; k < ctx_nfields; k++)
		for (size_t i = 0; i < n; i++)
			if (!strcmp(ctx_fields[k].name, names[i]) && ctx_field_word(&ctx_fields[k], 0, site) == word)
				return true;
	return false;
}

static LLVMValueRef load_operand(struct low *l, enum gpubpf_site site, uint32_t word)
{
	bool half = names_word(narrow, NNARROW, site, word);
	LLVMValueRef v;
	char text[60];

	snprintf(text, sizeof(text), "%s $0, %s%u;", half ? "cvt.u32.u64" : "mov.b64", CUDA_OPERAND, word);
	v = asm_call(l, text, half ? "=r" : "=l", half ? l->i32 : low_int(l, 8), false);
	if (names_word(narrow, NPLACE_CONSTS, site, word))
		low_mark_place_const(l, v);
	if (names_word(narrow, NUNIFORM, site, word))
		low_mark_uniform(l, v);
	return LLVMBuildZExt(l->b, v, low_int(l, 8), "");
}

/* Copies the operands of an instruction place from registers to the environment. */
static void set_operands(struct low *l, enum gpubpf_site site, LLVMValueRef env)
{
	if (gpubpf_place_kind(site)->operands & GPUBPF_GIVES_RESULT) {
		set_result(l, site, env);
		return;
	}
	for (uint32_t word = 0; word < ctx_words(site); word++)
		low_env_set(l, env, sizeof(struct gpubpf_env) + 8 * word, load_operand(l, site, word));
}

static LLVMValueRef load_param(struct low *l, uint32_t param, uint32_t off, uint32_t bytes)
{
	char name[40];

	snprintf(name, sizeof(name), "gpubpf_param_%u", param);
	return cuda_load_param(l, name, off, bytes);
}

/*
 * Loads the clock offset from constant memory. A load from the arena's header would be slow. With probes that read the
 * clock at entry and exit, that load makes vectorAdd 1.7 times as slow on an H200.
 */
static void set_clock(struct low *l, LLVMValueRef env)
{
	low_env_set(l, env, offsetof(struct gpubpf_env, clock_offset), cuda_load_word(l, "gpubpf_clock_offset"));
}

static void set_flags(struct low *l, LLVMValueRef env, bool clock)
{
	uint32_t flags = GPUBPF_ENV_GRANULES_AT(l->job->granules) | (clock ? GPUBPF_ENV_CLOCK : 0);

	LLVMBuildStore(l->b, low_const32(l, flags),
		       low_byte_ptr(l, env, low_const32(l, offsetof(struct gpubpf_env, flags))));
}

/*
 * Loads the arena's address. The range metadata on the load tells LLVM that the address plus a map's offset is never
 * NULL.
 */
static LLVMValueRef load_arena(struct low *l)
{
	LLVMValueRef arena = cuda_load_word(l, "gpubpf_arena");
	LLVMMetadataRef range[] = { LLVMValueAsMetadata(low_const(l, 1)), LLVMValueAsMetadata(low_const(l, 1ull << 62)) };

	LLVMSetMetadata(arena, LLVMGetMDKindIDInContext(l->ctx, "range", 5),
			LLVMMetadataAsValue(l->ctx, LLVMMDNodeInContext2(l->ctx, range, 2)));
	return arena;
}

void cuda_inline_env_by(struct low *l, uint32_t index, LLVMValueRef env, low_load_param *load,
			cuda_load_operands *load_operands)
{
	struct low_env_reads w = { 0 };

	low_env_reads_add(&w, l->job, index);
	low_env_set(l, env, offsetof(struct gpubpf_env, arena), load_arena(l));
	if (w.launch)
		low_env_set(l, env, offsetof(struct gpubpf_env, launch), cuda_load_word(l, "gpubpf_launch"));
	if (w.pid)
		low_env_set(l, env, offsetof(struct gpubpf_env, pid_tgid), cuda_load_word(l, "gpubpf_pid"));
	low_env_arguments(l, &l->job->sites[index], &w, env, load);
	load_operands(l, l->job->sites[index].site, env);
	set_flags(l, env, w.clock);
	if (w.clock)
		set_clock(l, env);
}

void cuda_inline_env(struct low *l, uint32_t index, LLVMValueRef env)
{
	cuda_inline_env_by(l, index, env, load_param, set_operands);
}

void cuda_inline_end(struct low *l)
{
	asm_call(l, "exit;", "", LLVMVoidTypeInContext(l->ctx), true);
}
