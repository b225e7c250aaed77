/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds sites and kernels. A site is a function s32 gpubpf_site_<i>(env) that runs the site's programs one after the
 * other. A kernel runs one site.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/lower/ctx.h"
#include "low.h"

/*
 * Marks the function of a site as inlined. If one kernel runs all sites, it is not inlined, unless the target inlines
 * all functions.
 */
static void set_inlining(struct low *l, LLVMValueRef fn)
{
	const char *how = l->opts->one_kernel && !l->target->inline_all ? "noinline" : "alwaysinline";

	low_attribute(l, fn, LLVMAttributeFunctionIndex, how);
}

static LLVMValueRef declare_site(struct low *l, uint32_t site)
{
	LLVMTypeRef type = LLVMFunctionType(l->i32, &l->private, 1, false);
	LLVMValueRef fn;
	char name[32];

	snprintf(name, sizeof(name), "gpubpf_site_%u", site);
	fn = LLVMAddFunction(l->mod, name, type);
	LLVMSetFunctionCallConv(fn, l->target->site_cc);
	if (l->opts->one_kernel) /* only the kernel of this module calls the site */
		LLVMSetLinkage(fn, LLVMInternalLinkage);
	set_inlining(l, fn);
	low_attribute(l, fn, 1, "noalias");
	low_attribute(l, fn, 1, "readonly");
	LLVMSetValueName2(LLVMGetParam(fn, 0), "env", 3);
	return fn;
}

static LLVMValueRef load_arena(struct low_prog *p)
{
	struct low *l = p->l;
	LLVMValueRef at = low_byte_ptr(l, p->env, low_const32(l, offsetof(struct gpubpf_env, arena)));

	return LLVMBuildLoad2(l->b, low_int(l, 8), at, "arena");
}

/* Stores r0 of the current program in the program's struct gpubpf_run, if the job has such structs. */
static void store_r0(struct low_prog *p)
{
	struct low *l = p->l;
	uint64_t run = gpubpf_lower_run(l->job, p->index);
	LLVMValueRef r0;

	if (!run)
		return;
	r0 = LLVMBuildLoad2(l->b, low_int(l, 8), p->r0, "");
	low_device_store(l, LLVMBuildAdd(l->b, load_arena(p), low_const(l, run + offsetof(struct gpubpf_run, r0)), ""),
			 r0, 8, 8);
}

/* Emits one program of the site. Leaves the builder in a new block after the program. */
static int emit_program(struct low_prog *p, uint32_t index)
{
	struct low *l = p->l;
	int err;

	p->index = index;
	p->prog = &l->job->unit->progs[index];
	p->done = low_block(p, "done");
	err = low_program(p);
	if (err < 0)
		gpubpf_diag_where(l->diag, "%s", p->prog->name);
	LLVMPositionBuilderAtEnd(l->b, p->done);
	store_r0(p);
	return err;
}

static int emit_body(struct low_prog *p)
{
	struct low *l = p->l;
	LLVMBasicBlockRef body;

	p->entry = low_block(p, "entry");
	body = low_block(p, "body");
	p->ended = low_block(p, "ended");
	LLVMPositionBuilderAtEnd(l->b, body);
	p->r0 = low_alloca(p, low_int(l, 8), 8, "r0");
	for (uint32_t i = 0; i < p->site->nprogs; i++) {
		int err = emit_program(p, p->site->progs[i]);

		if (err < 0)
			return err;
	}
	LLVMBuildRet(l->b, low_const32(l, 0));
	LLVMPositionBuilderAtEnd(l->b, p->ended);
	LLVMBuildRet(l->b, low_const32(l, 1));
	LLVMPositionBuilderAtEnd(l->b, p->entry);
	LLVMBuildBr(l->b, body);
	return 0;
}

static void store_env_field(struct low *l, LLVMValueRef env, size_t off, LLVMValueRef v, unsigned align)
{
	LLVMSetAlignment(LLVMBuildStore(l->b, v, low_byte_ptr(l, env, low_const32(l, off))), align);
}

/*
 * Creates a struct gpubpf_env with the words for the place's operands after it. Sets the members that are known at
 * compile time.
 */
static LLVMValueRef make_env(struct low *l, uint32_t site)
{
	LLVMValueRef env = low_env(l, sizeof(struct gpubpf_env) + 8 * ctx_words(l->job->sites[site].site));

	store_env_field(l, env, offsetof(struct gpubpf_env, kernel_id), low_const(l, l->job->sites[site].kernel_id), 8);
	store_env_field(l, env, offsetof(struct gpubpf_env, device), low_const32(l, l->job->caps->ordinal), 4);
	return env;
}

static LLVMValueRef call_site(struct low *l, LLVMValueRef fn, LLVMValueRef env)
{
	LLVMValueRef call = LLVMBuildCall2(l->b, LLVMGlobalGetValueType(fn), fn, &env, 1, "");

	LLVMSetInstructionCallConv(call, l->target->site_cc);
	return call;
}

/*
 * Begins a kernel with the parameters arena, launch, pid_tgid and, if `more`, a number. Builds the environment of a
 * site. Leaves the builder at the end of the kernel's first block.
 */
static LLVMValueRef begin_kernel(struct low *l, const char *name, uint32_t site, bool more, LLVMValueRef *env)
{
	LLVMTypeRef i64 = low_int(l, 8), params[] = { l->global, i64, i64, l->i32 };
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(l->ctx), params, more ? 4 : 3, false);
	LLVMValueRef kernel = LLVMAddFunction(l->mod, name, type);

	LLVMSetFunctionCallConv(kernel, l->target->kernel_cc);
	LLVMPositionBuilderAtEnd(l->b, LLVMAppendBasicBlockInContext(l->ctx, kernel, ""));
	*env = make_env(l, site);
	store_env_field(l, *env, offsetof(struct gpubpf_env, arena),
			LLVMBuildPtrToInt(l->b, LLVMGetParam(kernel, 0), i64, ""), 8);
	store_env_field(l, *env, offsetof(struct gpubpf_env, launch), LLVMGetParam(kernel, 1), 8);
	store_env_field(l, *env, offsetof(struct gpubpf_env, pid_tgid), LLVMGetParam(kernel, 2), 8);
	return kernel;
}

/* Emits gpubpf_run_<i>, a kernel that runs the site once. */
static void emit_kernel(struct low *l, uint32_t site, LLVMValueRef fn)
{
	LLVMValueRef env;
	char name[32];

	snprintf(name, sizeof(name), "gpubpf_run_%u", site);
	begin_kernel(l, name, site, false, &env);
	call_site(l, fn, env);
	LLVMBuildRetVoid(l->b);
}

static void hint(struct low *l, LLVMValueRef kernel, const char *name, LLVMMetadataRef *of, unsigned n)
{
	LLVMGlobalSetMetadata(kernel, LLVMGetMDKindIDInContext(l->ctx, name, strlen(name)),
			      LLVMMDNodeInContext2(l->ctx, of, n));
}

/*
 * Adds hints that a work-group has one lane and that the kernel already uses full-width vectors (OpenCL C 6.7.2).
 * Without them, the compiler also generates code for several lanes, which doubles its time.
 */
static void hint_one_lane(struct low *l, LLVMValueRef kernel)
{
	LLVMMetadataRef one = LLVMValueAsMetadata(low_const32(l, 1)), size[] = { one, one, one };
	LLVMMetadataRef type[] = { LLVMValueAsMetadata(LLVMGetUndef(LLVMVectorType(l->i32, 4))), one };

	hint(l, kernel, "reqd_work_group_size", size, 3);
	hint(l, kernel, "vec_type_hint", type, 2);
}

/* Largest number of sites in one switch. The time of register allocation grows faster than the number of branches. */
#define SITES_PER_SWITCH 24

/*
 * Builds a function void (env, uint32_t site). It runs the site number `site` if this is one of the SITES_PER_SWITCH
 * sites from `first` on.
 */
static LLVMValueRef build_site_switch(struct low *l, uint32_t first)
{
	LLVMTypeRef params[] = { l->private, l->i32 };
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(l->ctx), params, 2, false);
	LLVMBasicBlockRef end;
	LLVMValueRef fn, which;
	char name[40];

	snprintf(name, sizeof(name), "gpubpf_site_of_%u", first);
	fn = LLVMAddFunction(l->mod, name, type);
	LLVMSetFunctionCallConv(fn, l->target->site_cc);
	LLVMSetLinkage(fn, LLVMInternalLinkage);
	set_inlining(l, fn);
	LLVMPositionBuilderAtEnd(l->b, LLVMAppendBasicBlockInContext(l->ctx, fn, ""));
	end = LLVMAppendBasicBlockInContext(l->ctx, fn, "end");
	which = LLVMBuildSwitch(l->b, LLVMGetParam(fn, 1), end, SITES_PER_SWITCH);
	for (uint32_t i = first; i < first + SITES_PER_SWITCH && i < l->job->nsites; i++) {
		LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(l->ctx, fn, "");

		snprintf(name, sizeof(name), "gpubpf_site_%u", i);
		LLVMAddCase(which, low_const32(l, i), block);
		LLVMPositionBuilderAtEnd(l->b, block);
		call_site(l, LLVMGetNamedFunction(l->mod, name), LLVMGetParam(fn, 0));
		LLVMBuildBr(l->b, end);
	}
	LLVMPositionBuilderAtEnd(l->b, end);
	LLVMBuildRetVoid(l->b);
	return fn;
}

/*
 * Emits a kernel that calls all functions of build_site_switch() one after the other. Only the function whose range has
 * the requested site runs it.
 */
void low_one_kernel(struct low *l)
{
	LLVMValueRef env, fn, kernel = begin_kernel(l, "gpubpf_run", 0, true, &env), args[2];
	LLVMBasicBlockRef at = LLVMGetInsertBlock(l->b);

	hint_one_lane(l, kernel);
	args[0] = env;
	args[1] = LLVMGetParam(kernel, 3);
	for (uint32_t i = 0; i < l->job->nsites; i += SITES_PER_SWITCH) {
		fn = build_site_switch(l, i);
		LLVMPositionBuilderAtEnd(l->b, at);
		LLVMSetInstructionCallConv(LLVMBuildCall2(l->b, LLVMGlobalGetValueType(fn), fn, args, 2, ""),
					   l->target->site_cc);
	}
	LLVMBuildRetVoid(l->b);
}

static bool ends_threads(const struct low *l, uint32_t site)
{
	const struct gpubpf_site_desc *desc = &l->job->sites[site];

	for (uint32_t i = 0; i < desc->nprogs; i++) {
		const struct gpubpf_facts *facts = l->job->unit->progs[desc->progs[i]].facts;

		if (!facts || facts->ends_thread)
			return true;
	}
	return false;
}

/* Emits gpubpf_inline_<i>(), which runs the site. Its body is the text that a target inserts into a GPU kernel. */
static void emit_inlined(struct low *l, uint32_t site, LLVMValueRef fn)
{
	LLVMTypeRef param = low_int(l, 8);
	LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(l->ctx), &param, l->target->inline_arguments, false);
	LLVMValueRef entry, env, call;
	LLVMBasicBlockRef end, out;
	char name[40];

	snprintf(name, sizeof(name), "gpubpf_inline_%u", site);
	entry = LLVMAddFunction(l->mod, name, type);
	LLVMSetFunctionCallConv(entry, l->target->kernel_cc);
	LLVMPositionBuilderAtEnd(l->b, LLVMAppendBasicBlockInContext(l->ctx, entry, ""));
	env = make_env(l, site);
	l->target->inline_env(l, site, env);
	call = call_site(l, fn, env);
	if (ends_threads(l, site)) {
		end = LLVMAppendBasicBlockInContext(l->ctx, entry, "end");
		out = LLVMAppendBasicBlockInContext(l->ctx, entry, "out");
		LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntNE, call, low_const32(l, 0), ""), end, out);
		LLVMPositionBuilderAtEnd(l->b, end);
		l->target->inline_end(l);
		LLVMBuildBr(l->b, out);
		LLVMPositionBuilderAtEnd(l->b, out);
	}
	LLVMBuildRetVoid(l->b);
}

int low_site(struct low *l, uint32_t site)
{
	uint32_t expanded = 0;
	struct low_prog p = { .l = l, .site = &l->job->sites[site], .expanded = &expanded };
	int err;

	p.fn = declare_site(l, site);
	p.env = LLVMGetParam(p.fn, 0);
	err = emit_body(&p);
	if (!err && l->opts->kernels)
		emit_kernel(l, site, p.fn);
	if (!err && l->opts->inlined)
		emit_inlined(l, site, p.fn);
	return err;
}
