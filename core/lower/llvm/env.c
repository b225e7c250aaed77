/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the environment of inlined probes, with the values that targets store there (inline_env of struct
 * gpubpf_llvm_target).
 */
#include <stddef.h>

#include "core/lower/ctx.h"
#include "low.h"

LLVMValueRef low_env(struct low *l, uint64_t size)
{
	LLVMValueRef env = LLVMBuildAlloca(l->b, LLVMArrayType2(low_int(l, 8), (size + 7) / 8), "env");

	LLVMSetAlignment(env, 8);
	LLVMBuildMemSet(l->b, env, LLVMConstInt(l->i8, 0, false), low_const(l, size), 8);
	return env;
}

void low_env_set(struct low *l, LLVMValueRef env, size_t off, LLVMValueRef v)
{
	LLVMSetAlignment(LLVMBuildStore(l->b, v, low_byte_ptr(l, env, low_const32(l, off))), 8);
}

LLVMValueRef low_env_word(struct low *l, const char *name, unsigned space, LLVMVisibility visibility)
{
	LLVMTypeRef i64 = low_int(l, 8);
	LLVMValueRef word = LLVMGetNamedGlobal(l->mod, name);

	if (!word) {
		word = LLVMAddGlobalInAddressSpace(l->mod, i64, name, space);
		LLVMSetInitializer(word, low_const(l, 0));
		LLVMSetExternallyInitialized(word, true);
		LLVMSetVisibility(word, visibility);
		LLVMSetAlignment(word, 8);
	}
	return LLVMBuildLoad2(l->b, i64, word, name);
}

static void note_program(struct low_env_reads *w, const struct gpubpf_prog *prog)
{
	const struct gpubpf_facts *facts = prog->facts;

	w->args |= facts ? facts->ctx_args : UINT64_MAX;
	w->launch |= !facts || facts->ctx_launch;
	w->pid |= !facts || facts->pid;
	w->clock |= !facts || facts->clock;
	w->marks_launch |= !facts || facts->marks_launch;
	for (uint32_t i = 0; i < prog->ninsns; i++) {
		const struct gpubpf_helper *helper = gpubpf_insn_helper(&prog->insns[i]);

		w->bytes |= helper && gpubpf_helper_param_arg(helper);
	}
}

void low_env_reads_add(struct low_env_reads *w, const struct gpubpf_lower_job *job, uint32_t site)
{
	for (uint32_t i = 0; i < job->sites[site].nprogs; i++)
		note_program(w, &job->unit->progs[job->sites[site].progs[i]]);
	if (ctx_captures(job->sites[site].site))
		w->args = 0;
}

/*
 * Returns the size in bytes of the largest load at offset `at` of a parameter. The parameter's alignment and the number
 * of remaining bytes limit this size.
 */
static uint32_t piece(const struct gpubpf_param *param, uint32_t at)
{
	uint32_t n = 8;

	while (n > 1 && (at + n > param->size || (param->align && n > param->align) || at % n))
		n /= 2;
	return n;
}

/* Returns the parameter's first 8 bytes as a number (include/gpubpf/ctx.h). */
static LLVMValueRef load_argument(struct low *l, uint32_t i, const struct gpubpf_param *param, low_load_param *load)
{
	LLVMValueRef v = low_const(l, 0);
	uint32_t n;

	for (uint32_t at = 0; at < param->size && at < 8; at += n) {
		LLVMValueRef part;

		n = piece(param, at);
		part = LLVMBuildShl(l->b, load(l, i, at, n), low_const(l, 8 * at), "");
		v = LLVMBuildOr(l->b, v, part, "");
	}
	return v;
}

static void copy_bytes(struct low *l, LLVMValueRef bytes, uint32_t i, const struct gpubpf_param *param, low_load_param *load)
{
	uint32_t n;

	for (uint32_t at = 0; at < param->size; at += n) {
		LLVMValueRef part, to = low_byte_ptr(l, bytes, low_const32(l, param->bytes_off + at));

		n = piece(param, at);
		part = LLVMBuildTrunc(l->b, load(l, i, at, n), low_int(l, n), "");
		LLVMSetAlignment(LLVMBuildStore(l->b, part, to), 1);
	}
}

static void set_bytes(struct low *l, const struct gpubpf_site_desc *site, LLVMValueRef env, low_load_param *load)
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
			copy_bytes(l, bytes, i, &site->params[i], load);
	low_env_set(l, env, offsetof(struct gpubpf_env, arg_bytes), bytes);
}

void low_env_arguments(struct low *l, const struct gpubpf_site_desc *site, const struct low_env_reads *w,
		       LLVMValueRef env, low_load_param *load)
{
	for (uint32_t i = 0; i < site->nparams && i < GPUBPF_ENV_ARGS; i++)
		if (w->args >> i & 1 && site->params[i].kind != GPUBPF_PARAM_OPAQUE)
			low_env_set(l, env, offsetof(struct gpubpf_env, arg) + 8 * i,
				    load_argument(l, i, &site->params[i], load));
	if (w->bytes)
		set_bytes(l, site, env, load);
}
