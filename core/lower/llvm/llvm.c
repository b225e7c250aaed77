/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles a job to the target's code: builds the module, links the device library, runs the passes and emits code. The
 * function lower() calls these stages in order.
 */
#include "llvm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include "core/lower/dump.h"
#include "low.h"
#include "passes/passes.h"

/* Receives LLVM's diagnostics and records the first error. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *arg)
{
	struct low *l = arg;
	char *text;

	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
		return;
	text = LLVMGetDiagInfoDescription(info);
	gpubpf_diag_set(l->diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "LLVM for %s: %s", l->target->name, text);
	LLVMDisposeMessage(text);
}

static int report_llvm_error(struct low *l, const char *doing, char *why)
{
	gpubpf_diag_set(l->diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "LLVM for %s, %s: %s", l->target->name, doing,
			why ? why : "failed");
	LLVMDisposeMessage(why);
	return -EINVAL;
}

/*
 * Opens the library's bitcode. The library's functions become linkonce, because LLVM then reads and links only the
 * bodies that the module needs.
 */
static int open_library(struct low *l)
{
	size_t size = (const char *)l->target->library_end - (const char *)l->target->library;
	LLVMMemoryBufferRef buf = LLVMCreateMemoryBufferWithMemoryRange(l->target->library, size, "device", false);

	if (LLVMGetBitcodeModuleInContext2(l->ctx, buf, &l->lib))
		return report_llvm_error(l, "reading the device library", NULL);
	for (LLVMValueRef fn = LLVMGetFirstFunction(l->lib); fn; fn = LLVMGetNextFunction(fn))
		if (!LLVMIsDeclaration(fn))
			LLVMSetLinkage(fn, LLVMLinkOnceODRLinkage);
	return 0;
}

static void open_module(struct low *l)
{
	LLVMValueRef probe;
	LLVMBasicBlockRef block;

	l->mod = LLVMModuleCreateWithNameInContext("gpubpf", l->ctx);
	LLVMSetTarget(l->mod, LLVMGetTarget(l->lib));
	LLVMSetDataLayout(l->mod, LLVMGetDataLayoutStr(l->lib));
	if (l->target->module_flag)
		LLVMAddModuleFlag(l->mod, LLVMModuleFlagBehaviorError, l->target->module_flag,
				  strlen(l->target->module_flag),
				  LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(l->ctx),
								   l->target->module_flag_value, false)));
	l->b = LLVMCreateBuilderInContext(l->ctx);
	l->i1 = LLVMInt1TypeInContext(l->ctx);
	l->i8 = LLVMInt8TypeInContext(l->ctx);
	l->i32 = LLVMInt32TypeInContext(l->ctx);
	l->global = LLVMPointerTypeInContext(l->ctx, 1);
	/* The target decides the address space of allocas, so an alloca is built to read its type. */
	probe = LLVMAddFunction(l->mod, "probe", LLVMFunctionType(LLVMVoidTypeInContext(l->ctx), NULL, 0, false));
	block = LLVMAppendBasicBlockInContext(l->ctx, probe, "");
	LLVMPositionBuilderAtEnd(l->b, block);
	l->private = LLVMTypeOf(LLVMBuildAlloca(l->b, l->i8, ""));
	LLVMClearInsertionPosition(l->b);
	LLVMDeleteFunction(probe);
}

static int verify(struct low *l, const char *doing)
{
	char *why = NULL;

	if (LLVMVerifyModule(l->mod, LLVMReturnStatusAction, &why))
		return report_llvm_error(l, doing, why);
	LLVMDisposeMessage(why);
	return 0;
}

static void remove_attribute(LLVMValueRef fn, const char *name)
{
	LLVMRemoveEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
				       LLVMGetEnumAttributeKindForName(name, strlen(name)));
}

static bool exported(const struct low *l, const char *name)
{
	if (l->opts->inlined)
		return !strncmp(name, "gpubpf_inline_", 14);
	return !strncmp(name, "gpubpf_site_", 12) || !strncmp(name, "gpubpf_run", 10);
}

/*
 * Returns true if fn is a library function that is rarely executed but called at many sites (GPUBPF_FN_NOINLINE in
 * maps/device/machine.h).
 */
static bool is_noinline_library(const struct low *l, LLVMValueRef fn)
{
	unsigned kind = LLVMGetEnumAttributeKindForName("noinline", 8);

	return l->opts->inlined && !l->target->inline_all &&
	       LLVMGetEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, kind);
}

/*
 * Links the library. All functions except sites and kernels become internal and alwaysinline. Map operations that
 * several call sites share are not inlined, because compilers for CPUs would then take ten times as long.
 */
static int link_library(struct low *l)
{
	LLVMModuleRef lib = l->lib;

	l->lib = NULL;
	if (LLVMLinkModules2(l->mod, lib))
		return report_llvm_error(l, "linking the device library", NULL);
	for (LLVMValueRef fn = LLVMGetFirstFunction(l->mod); fn; fn = LLVMGetNextFunction(fn)) {
		size_t n;

		if (LLVMIsDeclaration(fn))
			continue;
		if (exported(l, LLVMGetValueName2(fn, &n)))
			continue;
		LLVMSetLinkage(fn, LLVMInternalLinkage);
		if (is_noinline_library(l, fn))
			continue;
		remove_attribute(fn, "noinline");
		remove_attribute(fn, "optnone");
		if (l->target->inline_all || low_shared_has_one_call(fn))
			low_attribute(l, fn, LLVMAttributeFunctionIndex, "alwaysinline");
		else if (l->job->caps->bits & GPUBPF_CAP_X86)
			low_attribute(l, fn, LLVMAttributeFunctionIndex, "noinline");
	}
	return 0;
}

static int create_machine(struct low *l, const char *cpu, LLVMTargetMachineRef *machine)
{
	LLVMTargetRef target;
	char *why = NULL;

	l->target->init();
	if (LLVMGetTargetFromTriple(LLVMGetTarget(l->mod), &target, &why))
		return report_llvm_error(l, "finding the target", why);
	*machine = LLVMCreateTargetMachine(target, LLVMGetTarget(l->mod), cpu ? cpu : "", l->target->features,
					   l->target->vendor_optimizes ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault,
					   LLVMRelocPIC, LLVMCodeModelDefault);
	return *machine ? 0 : report_llvm_error(l, "making the target machine", NULL);
}

static int compile(struct low *l, LLVMTargetMachineRef machine, struct gpubpf_blob *out)
{
	bool object = l->target->object && !l->opts->text;
	LLVMMemoryBufferRef buf;
	char *why = NULL;
	int err;

	if (LLVMTargetMachineEmitToMemoryBuffer(machine, l->mod, object ? LLVMObjectFile : LLVMAssemblyFile, &why, &buf))
		return report_llvm_error(l, "emitting", why);
	err = l->diag->code == GPUBPF_OK ? low_blob_copy(LLVMGetBufferStart(buf), LLVMGetBufferSize(buf), out) : -EINVAL;
	LLVMDisposeMemoryBuffer(buf);
	return err;
}

static int write_out(struct low *l, LLVMTargetMachineRef machine, const char *cpu, struct gpubpf_blob *out)
{
	struct gpubpf_blob key = { 0 };
	bool cacheable = low_object_cache_key(l, cpu, &key);
	int err = cacheable && low_object_cache_find(l, &key, out) ? 0 : 1;

	if (err) {
		err = compile(l, machine, out);
		if (!err && cacheable)
			low_object_cache_add(l, &key, out);
	}
	free(key.data);
	return err;
}

static int write_ir(struct low *l, struct gpubpf_blob *out)
{
	int err = low_run_passes(l, NULL, "function(mem2reg,instcombine<no-verify-fixpoint>,simplifycfg)");
	char *text;

	if (err < 0)
		return err;
	text = LLVMPrintModuleToString(l->mod);
	err = low_blob_copy(text, strlen(text), out);
	LLVMDisposeMessage(text);
	return err;
}

static int lower(struct low *l, const char *cpu, enum gpubpf_llvm_form form, struct gpubpf_blob *out)
{
	LLVMTargetMachineRef machine = NULL;
	int err = open_library(l);

	if (!err)
		open_module(l);
	for (uint32_t i = 0; !err && i < l->job->nsites; i++)
		err = low_site(l, i);
	if (!err && l->opts->one_kernel)
		low_one_kernel(l);
	if (!err)
		err = verify(l, "checking the lowered module");
	if (!err)
		low_dump(l, "translate");
	if (!err && form == GPUBPF_LLVM_IR) {
		err = write_ir(l, out);
		if (!err)
			low_dump(l, "lower");
		return err;
	}
	if (!err)
		err = link_library(l);
	if (!err)
		low_dump(l, "link");
	if (!err)
		err = create_machine(l, cpu, &machine);
	if (!err)
		err = low_optimise(l, machine);
	if (!err)
		low_dump(l, "lower");
	if (!err)
		err = write_out(l, machine, cpu, out);
	if (!err && gpubpf_dump_wants(l->job, "emit"))
		gpubpf_dump_set(l->job, out->data, out->size);
	LLVMDisposeTargetMachine(machine);
	return err;
}

int gpubpf_llvm_emit(const struct gpubpf_llvm_target *target, const char *cpu, const struct gpubpf_lower_job *job,
		     const struct gpubpf_target_opts *opts, enum gpubpf_llvm_form form, struct gpubpf_blob *out,
		     struct gpubpf_diag *diag)
{
	struct gpubpf_pool pool = GPUBPF_POOL_INIT;
	struct low l = { .job = job, .opts = opts, .target = target, .diag = diag, .pool = &pool };
	int err;

	l.ctx = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(l.ctx, on_diagnostic, &l);
	err = lower(&l, cpu, form, out);
	if (opts->registers)
		*opts->registers = l.registers;
	if (l.b)
		LLVMDisposeBuilder(l.b);
	if (l.mod)
		LLVMDisposeModule(l.mod);
	if (l.lib)
		LLVMDisposeModule(l.lib);
	LLVMContextDispose(l.ctx);
	gpubpf_pool_finish(&pool);
	if (err == -ENOMEM)
		gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory to lower");
	return err;
}
