/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes twins of HIP kernels. Implements inspect and inject of struct gpubpf_target for code objects, which may be in a
 * bundle.
 *
 * A twin is a code object with one kernel, gpubpf_twin_<kernel>. The twin takes all arguments of the original, explicit
 * and hidden, and accesses the variables of the original code object. The table of backends/hip/wire/bind.h follows the
 * code object. Each call makes one twin, that of the job's first kernel.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_INJECT_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_INJECT_H

#include "core/target.h"

#define HIP_TWIN_PREFIX "gpubpf_twin_"

int hip_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag);
int hip_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
	       const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag);

/* Validates a code object that gpubpf made: LLVM's disassembler must decode all reachable instructions of its
 * kernels. */
int hip_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag);

#endif
