/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the target spirv: LLVM emits SPIR-V 1.4 for OpenCL devices that accept IL. */
#include "target.h"

#include <llvm-c/Target.h>

#include "core/model/diag.h"
#include "core/lower/bitcode.h"
#include "core/lower/llvm/llvm.h"
#include "backends/spirv/spirv/module/spv.h"

static void init(void)
{
	LLVMInitializeSPIRVTargetInfo();
	LLVMInitializeSPIRVTarget();
	LLVMInitializeSPIRVTargetMC();
	LLVMInitializeSPIRVAsmPrinter();
}

static const struct gpubpf_llvm_target llvm_target = {
	.name = "spirv",
	.features = "",
	.library = gpubpf_bitcode_spirv,
	.library_end = gpubpf_bitcode_spirv_end,
	.kernel_cc = 76 /* SPIR_KERNEL */,
	.site_cc = 75 /* SPIR_FUNC */,
	.init = init,
	.object = true,
	/*
	 * without this pass, Intel's compiler crashes: it merges two switch cases with the same successor block into
	 * one edge
	 */
	.passes = "function(lower-switch)",
	.vendor_optimizes = true,
	.only_byte_widths = true,
};

static int spirv_emit(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
		      struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	return gpubpf_llvm_emit(&llvm_target, NULL, job, opts, GPUBPF_LLVM_FINAL, out, diag);
}

const struct gpubpf_target gpubpf_target_spirv = {
	.emit = spirv_emit,
	.inspect = gpubpf_spirv_inspect,
	.inject = gpubpf_spirv_inject,
	.validate = gpubpf_spirv_validate,
};
