/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_ALLOCATE_REGISTERS_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_ALLOCATE_REGISTERS_H

#include "backends/hip/amdgpu/analysis/found_kernel.h"
#include "stub.h"

/* Sets the vector registers of the draft, and the register counts in draft->twin. `probes` has the numbers of registers
 * that the probes use. Returns 0, or -EINVAL with the reason if there are not enough registers. */
int hip_allocate_registers(const struct hip_app_kernel *app, struct hip_draft *draft,
			   const struct hip_registers *probes, struct gpubpf_diag *diag);

#endif
