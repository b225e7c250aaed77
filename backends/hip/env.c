/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where probe code in a HIP twin finds its environment: the arena in a word of the twin's own memory, arguments
 * in the kernel's own, and behind these the launch and the thread that launched (bind.h).
 */
#include <stddef.h>
#include <string.h>

#include "bind.h"
#include "core/lower/llvm_low.h"
#include "emit.h"

#define CONST_SPACE 4 /* AMDGPU: memory that no kernel changes */

static void env_set(struct low *l, LLVMValueRef env, size_t off, LLVMValueRef v)
{
	LLVMSetAlignment(LLVMBuildStore(l->b, v, low_byte_ptr(l, env, low_const32(l, off))), 8);
}

/* The word of the arena's address; defined by whichever site comes first. */
static LLVMValueRef load_arena(struct low *l)
{
	static const char name[] = "gpubpf_arena";
	LLVMTypeRef i64 = low_int(l, 8);
	LLVMValueRef word = LLVMGetNamedGlobal(l->mod, name);

	if (!word) {
		word = LLVMAddGlobalInAddressSpace(l->mod, i64, name, CONST_SPACE);
		LLVMSetInitializer(word, low_const(l, 0));
		LLVMSetExternallyInitialized(word, true);
		LLVMSetVisibility(word, LLVMHiddenVisibility);
		LLVMSetAlignment(word, 8);
	}
	return LLVMBuildLoad2(l->b, i64, word, name);
}

static LLVMValueRef arguments(struct low *l)
{
	static const char name[] = "llvm.amdgcn.kernarg.segment.ptr";
	LLVMTypeRef type = LLVMFunctionType(LLVMPointerTypeInContext(l->ctx, CONST_SPACE), NULL, 0, false);
	LLVMValueRef fn = LLVMGetNamedFunction(l->mod, name);

	if (!fn)
		fn = LLVMAddFunction(l->mod, name, type);
	return LLVMBuildCall2(l->b, type, fn, NULL, 0, "args");
}

/* `bytes` (1, 2, 4 or 8) of the kernel's arguments, zero-extended to i64. */
static LLVMValueRef load(struct low *l, LLVMValueRef args, uint32_t off, uint32_t bytes)
{
	LLVMValueRef v = LLVMBuildLoad2(l->b, low_int(l, bytes), low_byte_ptr(l, args, low_const32(l, off)), "");

	LLVMSetAlignment(v, bytes);
	return LLVMBuildZExt(l->b, v, low_int(l, 8), "");
}

/* The largest access that the place and what is left allow. */
static uint32_t piece(uint32_t off, uint32_t left)
{
	uint32_t n = 8;

	while (n > 1 && (n > left || off % n))
		n /= 2;
	return n;
}

/* The first 8 bytes as a number (include/gpubpf/ctx.h). */
static LLVMValueRef argument(struct low *l, LLVMValueRef args, uint32_t off, uint32_t size)
{
	LLVMValueRef v = low_const(l, 0);
	uint32_t n;

	for (uint32_t at = 0; at < size && at < 8; at += n) {
		n = piece(off + at, (size < 8 ? size : 8) - at);
		v = LLVMBuildOr(l->b, v, LLVMBuildShl(l->b, load(l, args, off + at, n), low_const(l, 8 * at), ""), "");
	}
	return v;
}

static void copy_bytes(struct low *l, LLVMValueRef to, LLVMValueRef args, uint32_t off, uint32_t size)
{
	uint32_t n;

	for (uint32_t at = 0; at < size; at += n) {
		LLVMValueRef part;

		n = piece(off + at, size - at);
		part = LLVMBuildTrunc(l->b, load(l, args, off + at, n), low_int(l, n), "");
		LLVMSetAlignment(LLVMBuildStore(l->b, part, low_byte_ptr(l, to, low_const32(l, at))), 1);
	}
}

/* what the programs of a site ask for */
struct wants {
	uint64_t args;
	bool launch, pid, bytes;
};

static void note_program(struct wants *w, const struct gpubpf_prog *prog)
{
	const struct gpubpf_facts *facts = prog->facts;

	w->args |= facts ? facts->ctx_args : UINT64_MAX;
	w->launch |= !facts || facts->ctx_launch;
	w->pid |= !facts || facts->pid;
	for (uint32_t i = 0; i < prog->ninsns; i++)
		w->bytes |= prog->insns[i].kind == GPUBPF_INSN_CALL && prog->insns[i].imm == 520;
}

uint32_t hip_wanted_args(const struct gpubpf_lower_job *job)
{
	struct wants w = { 0 };

	for (uint32_t s = 0; s < job->nsites; s++)
		for (uint32_t i = 0; i < job->sites[s].nprogs; i++)
			note_program(&w, &job->unit->progs[job->sites[s].progs[i]]);
	return (w.launch ? HIP_BIND_LAUNCH : 0) | (w.pid ? HIP_BIND_PID : 0);
}

static void set_bytes(struct low *l, const struct gpubpf_site_desc *site, LLVMValueRef env, LLVMValueRef args)
{
	const uint32_t *offsets = hip_emit_of(l->target)->offsets;
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
			copy_bytes(l, low_byte_ptr(l, bytes, low_const32(l, site->params[i].bytes_off)), args, offsets[i],
				   site->params[i].size);
	env_set(l, env, offsetof(struct gpubpf_env, arg_bytes), bytes);
}

void hip_inline_env(struct low *l, uint32_t index, LLVMValueRef env)
{
	const struct gpubpf_site_desc *site = &l->job->sites[index];
	const struct hip_emit *emit = hip_emit_of(l->target);
	LLVMValueRef args = arguments(l);
	struct wants w = { 0 };

	for (uint32_t i = 0; i < site->nprogs; i++)
		note_program(&w, &l->job->unit->progs[site->progs[i]]);
	env_set(l, env, offsetof(struct gpubpf_env, arena), load_arena(l));
	if (w.launch)
		env_set(l, env, offsetof(struct gpubpf_env, launch), load(l, args, emit->launch, 8));
	if (w.pid)
		env_set(l, env, offsetof(struct gpubpf_env, pid_tgid), load(l, args, emit->pid, 8));
	for (uint32_t i = 0; i < site->nparams && i < GPUBPF_ENV_ARGS; i++)
		if (w.args >> i & 1 && site->params[i].kind != GPUBPF_PARAM_OPAQUE)
			env_set(l, env, offsetof(struct gpubpf_env, arg) + 8 * i,
				argument(l, args, emit->offsets[i], site->params[i].size));
	if (w.bytes)
		set_bytes(l, site, env, args);
}

void hip_inline_end(struct low *l)
{
	gpubpf_diag_set(l->diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
			"helper 507 cannot end single threads of AMD machine code");
}
