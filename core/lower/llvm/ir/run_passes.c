/* SPDX-License-Identifier: Apache-2.0 */
/* Runs passes of LLVM over the module. */
#include <errno.h>

#include <llvm-c/Transforms/PassBuilder.h>

#include "ir.h"

int low_run_passes(struct low *l, LLVMTargetMachineRef machine, const char *passes)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error;
	char *text;

	/* wide vectors do not speed up a probe, and SPIR-V supports few */
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
