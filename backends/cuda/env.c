/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where inlined probe code in a CUDA twin finds its environment: the arena, the clock, the launch and the thread
 * that launched in words of the twin's constant memory, which the agent fills; arguments in the kernel's own
 * parameters. The parameter that a ld.param means is written gpubpf_param_<i> here; cuda_probe_extract()
 * puts its name there.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/lower/llvm_low.h"
#include "twin.h"

#define CONST_SPACE 4 /* NVPTX: .const */

static LLVMValueRef asm_call(struct low *l, const char *text, const char *constraints, LLVMTypeRef result, bool effects)
{
	LLVMTypeRef type = LLVMFunctionType(result, NULL, 0, false);
	LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), effects, false,
					     LLVMInlineAsmDialectATT, false);

	return LLVMBuildCall2(l->b, type, code, NULL, 0, "");
}

static void env_set(struct low *l, LLVMValueRef env, size_t off, LLVMValueRef v)
{
	LLVMSetAlignment(LLVMBuildStore(l->b, v, low_byte_ptr(l, env, low_const32(l, off))), 8);
}

/* A word of the twin's own that the agent writes; defined by whichever site comes first. */
static LLVMValueRef load_word(struct low *l, const char *name)
{
	LLVMTypeRef i64 = low_int(l, 8);
	LLVMValueRef word = LLVMGetNamedGlobal(l->mod, name);

	if (!word) {
		word = LLVMAddGlobalInAddressSpace(l->mod, i64, name, CONST_SPACE);
		LLVMSetInitializer(word, low_const(l, 0));
		LLVMSetExternallyInitialized(word, true);
		LLVMSetAlignment(word, 8);
	}
	return LLVMBuildLoad2(l->b, i64, word, name);
}

/* `bytes` (1, 2, 4 or 8) of a parameter, zero-extended to i64. */
static LLVMValueRef load_param(struct low *l, uint32_t param, uint32_t off, uint32_t bytes)
{
	char text[80];
	LLVMValueRef v;

	snprintf(text, sizeof(text), "ld.param.u%u $0, [gpubpf_param_%u+%u];", 8 * bytes, param, off);
	v = asm_call(l, text, bytes == 8 ? "=l" : "=r", bytes == 8 ? low_int(l, 8) : l->i32, false);
	return LLVMBuildZExt(l->b, v, low_int(l, 8), "");
}

/* The largest access that the alignment and what is left allow. */
static uint32_t piece(const struct gpubpf_param *param, uint32_t at)
{
	uint32_t n = 8;

	while (n > 1 && (at + n > param->size || (param->align && n > param->align) || at % n))
		n /= 2;
	return n;
}

/* The first 8 bytes as a number (include/gpubpf/ctx.h). */
static LLVMValueRef argument(struct low *l, uint32_t i, const struct gpubpf_param *param)
{
	LLVMValueRef v = low_const(l, 0);
	uint32_t n;

	for (uint32_t at = 0; at < param->size && at < 8; at += n) {
		LLVMValueRef part;

		n = piece(param, at);
		part = LLVMBuildShl(l->b, load_param(l, i, at, n), low_const(l, 8 * at), "");
		v = LLVMBuildOr(l->b, v, part, "");
	}
	return v;
}

static void copy_bytes(struct low *l, LLVMValueRef bytes, uint32_t i, const struct gpubpf_param *param)
{
	uint32_t n;

	for (uint32_t at = 0; at < param->size; at += n) {
		LLVMValueRef part, to = low_byte_ptr(l, bytes, low_const32(l, param->bytes_off + at));

		n = piece(param, at);
		part = LLVMBuildTrunc(l->b, load_param(l, i, at, n), low_int(l, n), "");
		LLVMSetAlignment(LLVMBuildStore(l->b, part, to), 1);
	}
}

/* what the programs of a site ask for */
struct wants {
	uint64_t args;
	bool launch, pid, bytes, clock;
};

static void note_program(struct wants *w, const struct gpubpf_prog *prog)
{
	const struct gpubpf_facts *facts = prog->facts;

	w->args |= facts ? facts->ctx_args : UINT64_MAX;
	w->launch |= !facts || facts->ctx_launch;
	w->pid |= !facts || facts->pid;
	w->clock |= !facts || facts->clock;
	for (uint32_t i = 0; i < prog->ninsns; i++)
		w->bytes |= prog->insns[i].kind == GPUBPF_INSN_CALL && prog->insns[i].imm == 520;
}

static void set_bytes(struct low *l, const struct gpubpf_site_desc *site, LLVMValueRef env)
{
	LLVMValueRef bytes;
	uint32_t size = 0;

	for (uint32_t i = 0; i < site->nparams; i++)
		if (site->params[i].bytes_off != UINT32_MAX && site->params[i].bytes_off + site->params[i].size > size)
			size = site->params[i].bytes_off + site->params[i].size;
	if (!size)
		return;
	bytes = LLVMBuildAlloca(l->b, LLVMArrayType2(l->i8, size), "bytes");
	LLVMSetAlignment(bytes, 8);
	for (uint32_t i = 0; i < site->nparams; i++)
		if (site->params[i].bytes_off != UINT32_MAX)
			copy_bytes(l, bytes, i, &site->params[i]);
	env_set(l, env, offsetof(struct gpubpf_env, arg_bytes), bytes);
}

/* A lane need not wait for the arena's header: that would take vectorAdd with a clock at entry and exit 1.7 times as
 * long as without, on an H200. */
static void set_clock(struct low *l, LLVMValueRef env)
{
	static const char *const words[] = { "gpubpf_clock_cycles", "gpubpf_clock_ns", "gpubpf_clock_mult" };

	LLVMBuildStore(l->b, low_const32(l, GPUBPF_ENV_CLOCK),
		       low_byte_ptr(l, env, low_const32(l, offsetof(struct gpubpf_env, flags))));
	for (uint32_t i = 0; i < 3; i++)
		env_set(l, env, offsetof(struct gpubpf_env, clock) + 8 * i, load_word(l, words[i]));
}

/* The arena's address: a sum with an offset of a map is then known not to be NULL. */
static LLVMValueRef load_arena(struct low *l)
{
	LLVMValueRef arena = load_word(l, "gpubpf_arena");
	LLVMMetadataRef range[] = { LLVMValueAsMetadata(low_const(l, 1)), LLVMValueAsMetadata(low_const(l, 1ull << 62)) };

	LLVMSetMetadata(arena, LLVMGetMDKindIDInContext(l->ctx, "range", 5),
			LLVMMetadataAsValue(l->ctx, LLVMMDNodeInContext2(l->ctx, range, 2)));
	return arena;
}

void cuda_inline_env(struct low *l, uint32_t index, LLVMValueRef env)
{
	const struct gpubpf_site_desc *site = &l->job->sites[index];
	struct wants w = { 0 };

	for (uint32_t i = 0; i < site->nprogs; i++)
		note_program(&w, &l->job->unit->progs[site->progs[i]]);
	env_set(l, env, offsetof(struct gpubpf_env, arena), load_arena(l));
	if (w.launch)
		env_set(l, env, offsetof(struct gpubpf_env, launch), load_word(l, "gpubpf_launch"));
	if (w.pid)
		env_set(l, env, offsetof(struct gpubpf_env, pid_tgid), load_word(l, "gpubpf_pid"));
	for (uint32_t i = 0; i < site->nparams && i < GPUBPF_ENV_ARGS; i++)
		if (w.args >> i & 1 && site->params[i].kind != GPUBPF_PARAM_OPAQUE)
			env_set(l, env, offsetof(struct gpubpf_env, arg) + 8 * i, argument(l, i, &site->params[i]));
	if (w.clock)
		set_clock(l, env);
	if (w.bytes)
		set_bytes(l, site, env);
}

void cuda_inline_end(struct low *l)
{
	asm_call(l, "exit;", "", LLVMVoidTypeInContext(l->ctx), true);
}
