/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the registers of a kernel in which a twin can keep the state at entry. At the kernel's entry only its initial
 * state is live, and at s_endpgm nothing is. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_LIVE_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_LIVE_H

#include "found_kernel.h"

/* The target's `live` operation. At the entry v0 is live, which holds the work-item's ids. */
struct gpubpf_live hip_live(const struct gpubpf_kernel_info *kernel, const struct gpubpf_place *place);
/* Returns the registers that the kernel uses. The metadata has exact counts, the descriptor has granules. The result is
 * at least what the code names. */
struct hip_registers hip_live_used(const struct hip_app_kernel *app);
/* Returns 0 if a probe at an exit can get its operands, else -EINVAL with the reason. */
int hip_live_at_exit(const struct hip_app_kernel *app, struct gpubpf_diag *diag);
/* Sets the reason that a probe at an exit lacks registers, and returns -EINVAL. */
int hip_live_refuse_exit(const struct hip_app_kernel *app, struct gpubpf_diag *diag);

#endif
