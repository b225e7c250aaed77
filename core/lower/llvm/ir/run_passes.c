/* SPDX-License-Identifier: Apache-2.0 */
/* Runs passes of LLVM over the module. */
#include <errno.h>

#include <llvm-c/Transforms/PassBuilder.h>

#include "core/lower/dump.h"
#include "ir.h"

void low_dump(struct low *l, const char *pass)
{
	char *text;

	if (!gpubpf_dump_wants(l->job, pass))
		return;
	text = LLVMPrintModuleToString(l->mod);
	gpubpf_dump_set(l->job, text, strlen(text));
	LLVMDisposeMessage(text);
}

int low_run_passes(struct low *l, LLVMTargetMachineRef machine, const char *passes)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error;
	char *text;

	/* no vectorization: wide vectors do not speed up a probe, and SPIR-V supports few of them */
	LLVMPassBuilderOptionsSetLoopVectorization(options, false);
	LLVMPassBuilderOptionsSetSLPVectorization(options, false);
	LLVMPassBuilderOptionsSetLoopInterleaving(options, false);
	error = LLVMRunPasses(l->mod, passes, machine, options);
	LLVMDisposePassBuilderOptions(options);
	if (!error)
		return 0;
	text = LLVMGetErrorMessage(error);
	gpubpf_diag_set(l->diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "LLVM for %s, optimising: %s", l->target->name, text);
	LLVMDisposeErrorMessage(text);
	return -EINVAL;
}
