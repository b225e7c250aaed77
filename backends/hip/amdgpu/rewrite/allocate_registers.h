/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_ALLOCATE_REGISTERS_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_ALLOCATE_REGISTERS_H

#include "backends/hip/amdgpu/analysis/found_kernel.h"
#include "stub.h"

/* Chooses the draft's vector registers, and draft->twin's, for probes that use `probes`. Returns 0, or -EINVAL with the
 * reason if there are too few. */
int hip_allocate_registers(const struct hip_app_kernel *app, struct hip_draft *draft,
			   const struct hip_registers *probes, struct gpubpf_diag *diag);

#endif
