/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the target "llvm": it emits the lowered programs as readable LLVM IR, before the device library is linked.
 * The IR uses the signatures of the SPIR-V library, which does not depend on a vendor.
 */
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>

#include "core/model/diag.h"
#include "core/target.h"
#include "core/lower/bitcode.h"
#include "core/lower/llvm/llvm.h"

static void init(void)
{
}

static int emit(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts, struct gpubpf_blob *out,
		struct gpubpf_diag *diag)
{
	static const struct gpubpf_llvm_target target = {
		.name = "llvm",
		.features = "",
		.library = gpubpf_bitcode_spirv,
		.library_end = gpubpf_bitcode_spirv_end,
		.init = init,
		.kernel_cc = 76 /* SPIR_KERNEL */,
		.site_cc = 75 /* SPIR_FUNC */,
	};

	return gpubpf_llvm_emit(&target, NULL, job, opts, GPUBPF_LLVM_IR, out, diag);
}

static int validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	LLVMContextRef ctx = LLVMContextCreate();
	LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRangeCopy(piece->blob.data, piece->blob.size, "llvm");
	LLVMModuleRef module = NULL;
	char *why = NULL;
	int err = 0;

	if (LLVMParseIRInContext(ctx, text, &module, &why) || LLVMVerifyModule(module, LLVMReturnStatusAction, &why))
		err = gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "%s", why ? why : "");
	LLVMDisposeMessage(why);
	if (module)
		LLVMDisposeModule(module);
	LLVMContextDispose(ctx);
	return err;
}

extern const struct gpubpf_target gpubpf_target_llvm;
const struct gpubpf_target gpubpf_target_llvm = {
	.emit = emit,
	.validate = validate,
};
