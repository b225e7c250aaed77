/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes twins of HIP kernels: struct gpubpf_target's inspect and inject for code objects, alone or in a bundle.
 *
 * A twin is a code object with one kernel, gpubpf_twin_<kernel>. The kernel takes the explicit and hidden arguments and
 * the memory of the original. The table of backends/hip/wire/bind.h follows the code object. One call makes one twin,
 * of the job's first kernel.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_INJECT_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_INJECT_H

#include "core/target.h"

#define HIP_TWIN_PREFIX "gpubpf_twin_"

int hip_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag);
int hip_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
	       const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag);

/* Validates a code object that we made: LLVM's disassembler must decode all reachable instructions of its kernels. */
int hip_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag);

#endif
