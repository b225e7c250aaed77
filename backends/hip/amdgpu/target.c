/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the target amdgpu. LLVM's AMDGPU backend compiles the code, and gpubpf's linker makes the code object
 * (backends/hip/amdgpu/object/linker.c).
 */
#include "target.h"

#include <stdlib.h>
#include <string.h>

#include <llvm-c/Support.h>
#include <llvm-c/Target.h>

#include "backends/hip/wire/bind.h"
#include "core/model/diag.h"
#include "core/lower/bitcode.h"
#include "emit.h"
#include "backends/hip/amdgpu/isa/isa.h"
#include "backends/hip/amdgpu/object/linker.h"
#include "backends/hip/amdgpu/analysis/live.h"
#include "backends/hip/amdgpu/isa/moves.h"
#include "inject.h"

#define DEFAULT_CPU "gfx90a"
#define DEFAULT_VERSION 4 /* version of the code object, which every HIP runtime accepts */

static void init(void)
{
	static const char *const args[] = { "gpubpf", "-disable-promote-alloca-to-lds" };
	static bool done;

	if (done)
		return;
	done = true;
	LLVMInitializeAMDGPUTargetInfo();
	LLVMInitializeAMDGPUTarget();
	LLVMInitializeAMDGPUTargetMC();
	LLVMInitializeAMDGPUAsmPrinter();
	LLVMInitializeAMDGPUAsmParser(); /* for the inline assembly that reads operands of places */
	/* The option keeps LLVM from placing variables in the work-group's memory, which belongs to the application. */
	LLVMParseCommandLineOptions(2, args, NULL);
}

static const struct gpubpf_llvm_target llvm_target = {
	.name = "amdgpu",
	.features = "",
	.library = gpubpf_bitcode_amdgcn,
	.library_end = gpubpf_bitcode_amdgcn_end,
	.kernel_cc = 91 /* AMDGPU_KERNEL */,
	.site_cc = 0,
	.init = init,
	.object = true,
	.inline_all = true,
	/* The passes run after loop unrolling, which leaves constant indices. The attributor removes requests for
	 * initial registers that the code does not read. */
	.passes = "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg),amdgpu-attributor",
	.module_flag = "amdhsa_code_object_version",
	.module_flag_value = 100 * DEFAULT_VERSION,
	.inline_env = hip_inline_env,
	.inline_end = hip_inline_end,
	.inline_arguments = true,
};

static void split_moves(const struct hip_isa *isa, struct gpubpf_blob *object)
{
	struct gpubpf_diag ignored;
	struct hip_elf elf;
	const uint8_t *bytes;
	Elf64_Shdr head;

	gpubpf_diag_init(&ignored);
	if (hip_elf_open(object->data, object->size, &elf, &ignored) < 0)
		return;
	for (uint32_t i = 0; hip_elf_section(&elf, i, &head, &bytes); i++)
		if (head.sh_flags & SHF_EXECINSTR && bytes)
			hip_split_moves(isa, (uint8_t *)object->data + (bytes - elf.data), head.sh_size);
}

/* Links the single object that LLVM compiled into a code object. */
static int link_alone(const struct gpubpf_blob *object, struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	struct hip_link job = { .nobjects = 1 };
	int err = hip_elf_open(object->data, object->size, &job.object[0], diag);

	if (err < 0)
		return err;
	job.flags = job.object[0].head.e_flags;
	job.abi = job.object[0].head.e_ident[EI_ABIVERSION];
	job.metadata = hip_elf_metadata(&job.object[0], &job.metadata_size);
	return hip_link(&job, out, diag);
}

/* Returns the LLVM target for one processor. Probes on gfx90a may not use scratch memory: gfx90a addresses it
 * differently from the other processors, and this was never tested. */
static struct gpubpf_llvm_target target_of(const struct hip_isa *isa)
{
	struct gpubpf_llvm_target t = llvm_target;

	t.no_memory = isa->family == HIP_GFX90A;
	return t;
}

static int amdgpu_emit(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts,
		       struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	const char *cpu = opts->cpu ? opts->cpu : job->caps->arch[0] ? job->caps->arch : DEFAULT_CPU;
	const struct hip_isa *isa = hip_isa_of_name(cpu);
	struct gpubpf_llvm_target made;
	struct gpubpf_blob object;
	int err;

	if (!isa)
		return gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
				       "the amdgpu target supports gfx90a, gfx942, gfx950, gfx11 and gfx12, not \"%s\"",
				       cpu);
	made = target_of(isa);
	if (opts->text)
		return gpubpf_llvm_emit(&made, isa->name, job, opts, GPUBPF_LLVM_FINAL, out, diag);
	err = gpubpf_llvm_emit(&made, isa->name, job, opts, GPUBPF_LLVM_FINAL, &object, diag);
	if (err < 0)
		return err;
	split_moves(isa, &object);
	err = link_alone(&object, out, diag);
	free(object.data);
	return err;
}

int hip_emit_sites(const struct gpubpf_lower_job *job, const struct hip_isa *isa, bool wave32, unsigned version,
		   const uint32_t *offsets, uint32_t end, const struct gpubpf_function *const *functions,
		   struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	bool launch = hip_launch_args(job) & HIP_BIND_LAUNCH;
	struct gpubpf_target_opts opts = { .opt_level = 2, .inlined = true };
	struct hip_emit emit = { target_of(isa), offsets, end, launch ? end + 8 : end, functions };
	int err;

	emit.target.module_flag_value = 100 * version;
	if (isa->wave32)
		emit.target.features = wave32 ? "+wavefrontsize32" : "+wavefrontsize64";
	err = gpubpf_llvm_emit(&emit.target, isa->name, job, &opts, GPUBPF_LLVM_FINAL, out, diag);
	if (!err)
		split_moves(isa, out);
	return err;
}

const struct gpubpf_target gpubpf_target_amdgpu = {
	.emit = amdgpu_emit,
	.inspect = hip_inspect,
	.inject = hip_inject,
	.live = hip_live,
	.validate = hip_validate,
};
