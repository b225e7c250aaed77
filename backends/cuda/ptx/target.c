/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the target "ptx", which emits PTX with LLVM's NVPTX backend. The device library's warp operations require
 * sm_70 or later.
 */
#include "target.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
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
	.name = "ptx",
	.features = "",
	.library = gpubpf_bitcode_nvptx,
	.library_end = gpubpf_bitcode_nvptx_end,
	.kernel_cc = 71 /* PTX_Kernel */,
	.site_cc = 0,
	.init = init,
	.inline_env = cuda_inline_env,
	.inline_end = cuda_inline_end,
	.vendor_optimizes = true,
	.thread_jumps = true,
	.counts_bits = true,
	.stack_space = 5 /* local */,
	.optimised = low_reuse_active_masks,
};

/*
 * processors from sm_70 on that LLVM 22's NVPTX backend knows (llc -march=nvptx64 -mcpu=help); LLVM aborts on any other
 */
static const uint16_t archs[] = { 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121 };

/* Splits a name such as "sm_75" or "sm_90a" into the number and the suffix. Without a suffix, *suffix is 0. */
static bool parse_cpu(const char *cpu, unsigned long *number, char *suffix)
{
	char *end;

	if (strncmp(cpu, "sm_", 3) || !isdigit((unsigned char)cpu[3]))
		return false;
	*number = strtoul(cpu + 3, &end, 10);
	*suffix = *end;
	return !*end || !end[1];
}

static bool is_known_cpu(const char *cpu)
{
	unsigned long number;
	char suffix;

	if (!parse_cpu(cpu, &number, &suffix) || (suffix == 'a' && number < 90) || (suffix == 'f' && number < 100) ||
	    (suffix && suffix != 'a' && suffix != 'f'))
		return false;
	for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
		if (archs[i] == number)
			return true;
	return false;
}

/*
 * Returns `cpu` if LLVM knows this processor. Otherwise writes to buf the newest older processor that LLVM knows, and
 * returns buf; its code also runs on `cpu`. Returns `cpu` if LLVM knows no older processor.
 */
static const char *find_nearest_cpu(const char *cpu, char buf[16])
{
	unsigned long number, found = 0;
	char suffix;

	if (is_known_cpu(cpu) || !parse_cpu(cpu, &number, &suffix))
		return cpu;
	for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++)
		found = archs[i] <= number ? archs[i] : found;
	snprintf(buf, 16, "sm_%lu", found);
	return found ? buf : cpu;
}

int cuda_emit(const struct gpubpf_llvm_target *target, const struct gpubpf_lower_job *job,
	      const struct gpubpf_target_opts *opts, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	char buf[16];
	const char *cpu = opts->cpu          ? opts->cpu :
			  job->caps->arch[0] ? find_nearest_cpu(job->caps->arch, buf) :
					       DEFAULT_CPU;

	if (!is_known_cpu(cpu))
		return gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
				       "the ptx target supports the processors sm_70 to sm_%u of LLVM 22, not \"%s\"",
				       archs[sizeof(archs) / sizeof(archs[0]) - 1], cpu);
	return gpubpf_llvm_emit(target, cpu, job, opts, GPUBPF_LLVM_FINAL, out, diag);
}

static int ptx_emit(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts, struct gpubpf_blob *out,
		    struct gpubpf_diag *diag)
{
	const char *cpu = opts->cpu ? opts->cpu : job->caps->arch;
	struct gpubpf_llvm_target target = cuda_llvm_target;

	if (!strncmp(cpu, "sm_7", 4) && cpu[4] < '5')
		/* the default of LLVM for sm_70 and sm_72 is PTX 6.0, which lacks activemask */
		target.features = "+ptx63";
	return cuda_emit(&target, job, opts, out, diag);
}

int cuda_emit_sites(const struct gpubpf_lower_job *job, const char *cpu, bool uses_accumulators,
		    struct gpubpf_blob *out, struct gpubpf_site_registers *registers, struct gpubpf_diag *diag)
{
	char buf[16];
	struct gpubpf_target_opts opts = { .opt_level = 2,
					   .inlined = true,
					   .keeps_sums = uses_accumulators,
					   .registers = registers,
					   .combines_adds = true,
					   .cpu = find_nearest_cpu(cpu, buf) };

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
