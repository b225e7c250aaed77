/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the live registers of a kernel at a place, and the registers that it uses. At the kernel's entry only the
 * initial values are live. At s_endpgm no register is live.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_LIVE_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_LIVE_H

#include "found_kernel.h"

/* Implements the target's `live` operation. At the entry only v0 is live, which holds the work-item ids. */
struct gpubpf_live hip_live(const struct gpubpf_kernel_info *kernel, const struct gpubpf_place *place);
/* Returns the numbers of registers that the kernel uses. The metadata has exact numbers, and the descriptor has numbers
 * rounded up to granules. The result covers at least the registers that the code names. */
struct hip_registers hip_live_used(const struct hip_app_kernel *app);
/* Returns 0 if the kernel leaves enough registers for the operands of an exit probe, else -EINVAL with the reason. */
int hip_live_at_exit(const struct hip_app_kernel *app, struct gpubpf_diag *diag);
/* Stores the message that an exit probe lacks registers in *diag, and returns -EINVAL. */
int hip_live_refuse_exit(const struct hip_app_kernel *app, struct gpubpf_diag *diag);

#endif
