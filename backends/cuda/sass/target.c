/* SPDX-License-Identifier: Apache-2.0 */
/* The sass target makes twins of NVIDIA machine code. LLVM compiles probes to PTX. NVIDIA's assembler
 * (backends/cuda/tools) compiles the PTX to machine code, which sass_inject() inserts into the kernel. */
#include "target.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/ptx/ir/ptx.h"
#include "core/model/diag.h"
#include "core/lower/bitcode.h"
#include "backends/cuda/sass/cubin/cubin.h"
#include "emit.h"
#include "backends/cuda/sass/analysis/live.h"

#define DEFAULT_CPU "sm_90"
#define MIN_SM_CONVERGENCE 90      /* from this architecture on, instructions make lanes converge; before, the
                                    * assembler calls its own functions for this */

/* Is a program attached at a place inside a kernel or function? There no lane may wait for another lane. */
static bool has_middle_site(const struct gpubpf_lower_job *job)
{
	for (uint32_t i = 0; i < job->nsites; i++)
		if (gpubpf_place_kind(job->sites[i].site)->where != GPUBPF_WHERE_KERNEL)
			return true;
	return false;
}

static int sass_emit(const struct gpubpf_lower_job *job, const struct gpubpf_target_opts *opts, struct gpubpf_blob *out,
		     struct gpubpf_diag *diag)
{
	struct gpubpf_target_opts how = { .opt_level = opts->opt_level, .inlined = true };
	struct sass_emit e = { .target = cuda_llvm_target };
	bool alone;

	how.cpu = opts->cpu ? opts->cpu : job->caps->arch[0] ? job->caps->arch : DEFAULT_CPU;
	e.arch = strncmp(how.cpu, "sm_", 3) ? NULL : sass_arch_find(strtoul(how.cpu + 3, NULL, 10));
	if (!e.arch)
		return gpubpf_diag_set(diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
				       "NVIDIA machine code is supported from sm_75 to sm_121, not for "
				       "\"%s\"",
				       how.cpu);
	e.target.name = "sass";
	alone = e.arch->sm < MIN_SM_CONVERGENCE || has_middle_site(job);
	e.target.library = alone ? gpubpf_bitcode_nvptx_alone : gpubpf_bitcode_nvptx_code;
	e.target.library_end = alone ? gpubpf_bitcode_nvptx_alone_end : gpubpf_bitcode_nvptx_code_end;
	e.target.inline_env = sass_inline_env;
	e.target.optimised = sass_make_per_lane;
	e.target.inline_arguments = true;
	e.target.inline_all = true;
	e.target.divides_by_library = true;
	return cuda_emit(&e.target, job, &how, out, diag);
}

/* Checks the PTX of sass_emit() or the cubin of sass_inject(). Since sass_inject() has already checked the twin, a
 * cubin only has to open. */
static int sass_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps,
			 struct gpubpf_diag *diag)
{
	struct sass_cubin cubin;
	struct ptx_module text;
	int err;

	if (piece->kind == GPUBPF_IMAGE_CUBIN) {
		err = sass_cubin_open(piece->blob.data, piece->blob.size, &cubin, diag);
		if (!err)
			sass_cubin_finish(&cubin);
		return err;
	}
	err = ptx_parse(piece->blob.data, piece->blob.size, &text, diag);
	if (!err)
		ptx_finish(&text);
	return err;
}

const struct gpubpf_target gpubpf_target_sass = {
	.emit = sass_emit,
	.inspect = sass_inspect,
	.inject = sass_inject,
	.live = sass_live,
	.validate = sass_validate,
};
