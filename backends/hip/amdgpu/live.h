/* SPDX-License-Identifier: Apache-2.0 */
/* Which registers of a kernel are free at its entry, where only its initial state is live, and at s_endpgm, where nothing
 * is: where a twin keeps that state. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_LIVE_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_LIVE_H

#include "found_kernel.h"
#include "stub.h"

/* The target's live: at the entry v0, in which are the work-item's ids. */
struct gpubpf_live hip_live(const struct gpubpf_kernel_info *kernel, const struct gpubpf_place *place);
/* What the kernel uses: the metadata knows it to the register, the descriptor in granules; no less than its code names. */
struct hip_registers hip_live_used(const struct hip_found *app);
/* Can a probe at an exit have what it is told? Else -EINVAL and why. */
int hip_live_at_exit(const struct hip_found *app, struct gpubpf_diag *diag);
/* Choose the draft's vector registers, and draft->twin's, for probes that use these. */
int hip_live_choose(const struct hip_found *app, struct hip_draft *draft, const struct hip_registers *probes,
		   struct gpubpf_diag *diag);

#endif
