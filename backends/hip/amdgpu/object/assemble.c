/* SPDX-License-Identifier: Apache-2.0 */
#include "assemble.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include "core/model/diag.h"

#define TRIPLE "amdgcn-amd-amdhsa"

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *diag)
{
	char *text;

	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
		return;
	text = LLVMGetDiagInfoDescription(info);
	gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "LLVM's assembler for AMD: %s", text);
	LLVMDisposeMessage(text);
}

static int set_failure(struct gpubpf_diag *diag, char *why)
{
	gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "LLVM's assembler for AMD: %s", why ? why : "failed");
	LLVMDisposeMessage(why);
	return -EINVAL;
}

static int copy_buffer(LLVMMemoryBufferRef buf, struct gpubpf_blob *out)
{
	size_t size = LLVMGetBufferSize(buf);

	out->data = malloc(size + 1);
	if (!out->data)
		return -ENOMEM;
	memcpy(out->data, LLVMGetBufferStart(buf), size);
	out->size = size;
	return 0;
}

static int emit(LLVMModuleRef module, LLVMTargetMachineRef machine, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
	LLVMMemoryBufferRef buf;
	char *why = NULL;
	int err;

	LLVMSetModuleDataLayout(module, layout);
	LLVMDisposeTargetData(layout);
	if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &why, &buf))
		return set_failure(diag, why);
	err = diag->code == GPUBPF_OK ? copy_buffer(buf, out) : -EINVAL;
	LLVMDisposeMemoryBuffer(buf);
	return err;
}

int hip_assemble(const struct hip_isa *isa, bool wave32, const char *text, size_t size, struct gpubpf_blob *out,
		 struct gpubpf_diag *diag)
{
	const char *features = !isa->wave32 ? "" : wave32 ? "+wavefrontsize32" : "+wavefrontsize64";
	LLVMContextRef context = LLVMContextCreate();
	LLVMModuleRef module = LLVMModuleCreateWithNameInContext("twin", context);
	LLVMTargetMachineRef machine = NULL;
	LLVMTargetRef target;
	char *why = NULL;
	int err;

	LLVMInitializeAMDGPUTargetInfo();
	LLVMInitializeAMDGPUTarget();
	LLVMInitializeAMDGPUTargetMC();
	LLVMInitializeAMDGPUAsmPrinter();
	LLVMInitializeAMDGPUAsmParser();
	LLVMContextSetDiagnosticHandler(context, on_diagnostic, diag);
	LLVMSetTarget(module, TRIPLE);
	LLVMSetModuleInlineAsm2(module, text, size);
	if (!LLVMGetTargetFromTriple(TRIPLE, &target, &why))
		machine = LLVMCreateTargetMachine(target, TRIPLE, isa->name, features, LLVMCodeGenLevelDefault,
						  LLVMRelocPIC, LLVMCodeModelDefault);
	err = machine ? emit(module, machine, out, diag) : set_failure(diag, why);
	LLVMDisposeTargetMachine(machine);
	LLVMDisposeModule(module);
	LLVMContextDispose(context);
	return err;
}
