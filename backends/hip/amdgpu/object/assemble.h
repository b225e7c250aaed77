/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_ASSEMBLE_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_ASSEMBLE_H

#include "core/target.h"
#include "backends/hip/amdgpu/isa/isa.h"

/* Assembles text into a relocatable object with LLVM's assembler. Returns 0, -EINVAL with LLVM's message, or
 * -ENOMEM. */
int hip_assemble(const struct hip_isa *isa, bool wave32, const char *text, size_t size, struct gpubpf_blob *out,
		 struct gpubpf_diag *diag);

#endif
