/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_HIP_ASSEMBLE_H
#define GPUBPF_HIP_ASSEMBLE_H

#include "backends/target.h"
#include "isa.h"

/* Assembly to a relocatable object, by LLVM. */
int hip_assemble(const struct hip_isa *isa, bool wave32, const char *text, size_t size, struct gpubpf_blob *out,
		 struct gpubpf_diag *diag);

#endif
