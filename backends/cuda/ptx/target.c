/* SPDX-License-Identifier: Apache-2.0 */
/* The ptx target: PTX by LLVM's NVPTX backend. The device library's warp operations need sm_70. */
#include "target.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Target.h>

#include "core/model/diag.h"
#include "core/lower/bitcode.h"
#include "core/lower/llvm/llvm.h"
#include "core/lower/llvm/passes/passes.h"
#include "emit.h"
#include "inject.h"

#define DEFAULT_CPU "sm_75"

static void init(void)
{
	LLVMInitializeNVPTXTargetInfo();
	LLVMInitializeNVPTXTarget();
	LLVMInitializeNVPTXTargetMC();
	LLVMInitializeNVPTXAsmPrinter();
}

const struct gpubpf_llvm_target cuda_llvm_target = {
	.name = "ptx", .features = "", .library = gpubpf_bitcode_nvptx, .library_end = gpubpf_bitcode_nvptx_end,
	.kernel_cc = 71 /* PTX_Kernel */, .site_cc = 0, .init = init, .inline_env = cuda_inline_env,
	.inline_end = cuda_inline_end, .vendor_optimizes = true, .thread_jumps = true, .counts_bits = true, .stack_space = 5 /* local */,
	.optimised = low_reuse_active_masks,
};

/* Accepts "sm_75" and "sm_90a". */
static bool is_known_cpu(const char *cpu)
{
	char *end;
	long number = strncmp(cpu, "sm_", 3) ? 0 : strtol(cpu + 3, &end, 10);

	return number >= 70 && number < 1000 && (!*end || (isalpha((unsigned char)*end) && !end[1]));
}

int cuda_emit(const struct gpubpf_llvm_target *target, const struct gpubpf_lower_job *job,
	      const struct gpubpf_target_opts *opts, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	const char *cpu = opts->cpu ? opts->cpu : job->caps->arch[0] ? job->caps->arch : DEFAULT_CPU;

	if (!is_known_cpu(cpu))
		return gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
				       "the ptx target supports sm_70 and later, not \"%s\"", cpu);
	return gpubpf_llvm_emit(target, cpu, job, opts, GPUBPF_LLVM_FINAL, out, diag);
}

static int ptx_emit(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
		    struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	const char *cpu = opts->cpu ? opts->cpu : job->caps->arch;
	struct gpubpf_llvm_target target = cuda_llvm_target;

	if (!strncmp(cpu, "sm_7", 4) && cpu[4] < '5')
		target.features = "+ptx63"; /* LLVM's default for these, PTX 6.0, lacks activemask */
	return cuda_emit(&target, job, opts, out, diag);
}

int cuda_emit_sites(const struct gpubpf_lower_job *job, const char *cpu, bool keeps_sums, struct gpubpf_blob *out,
		    struct gpubpf_diag *diag)
{
	struct gpubpf_target_opts opts = { .opt_level = 2, .inlined = true, .keeps_sums = keeps_sums, .combines_adds = true, .cpu = cpu };

	return ptx_emit(job, &opts, out, diag);
}

static int ptx_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps,
			struct gpubpf_diag *diag)
{
	struct ptx_module m;
	int err = ptx_parse(piece->blob.data, piece->blob.size, &m, diag);

	if (!err)
		ptx_finish(&m);
	return err;
}

const struct gpubpf_target gpubpf_target_ptx = {
	.emit = ptx_emit,
	.inspect = cuda_inspect,
	.inject = cuda_target_inject,
	.validate = ptx_validate,
};
