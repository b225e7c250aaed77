/* SPDX-License-Identifier: Apache-2.0 */
/* The target "llvm": the lowered programs as readable IR, before the device library is linked. It takes
 * the signatures of SPIR-V's library, which names no vendor. */
#include "core/target.h"
#include "core/lower/bitcode.h"
#include "core/lower/llvm.h"

static void init(void)
{
}

static int emit(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts, struct gpubpf_blob *out,
		struct gpubpf_diag *diag)
{
	static const struct gpubpf_llvm_target target = {
		.name = "llvm", .features = "", .library = gpubpf_bitcode_spirv,
		.library_end = gpubpf_bitcode_spirv_end, .init = init,
		.kernel_cc = 76 /* SPIR_KERNEL */, .site_cc = 75 /* SPIR_FUNC */,
	};

	return gpubpf_llvm_emit(&target, NULL, job, opts, GPUBPF_LLVM_IR, out, diag);
}

extern const struct gpubpf_target gpubpf_target_llvm;
const struct gpubpf_target gpubpf_target_llvm = {
	.name = "llvm",
	.meaning = "LLVM IR before linking, to read",
	.output = GPUBPF_IMAGE_LLVM_IR,
	.emit = emit,
};
