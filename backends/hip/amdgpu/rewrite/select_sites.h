/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_SELECT_SITES_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_SELECT_SITES_H

#include "backends/hip/amdgpu/analysis/found_kernel.h"
#include "stub.h"

/* Selects the sites at all places of the job's first kernel. Returns 0, -ENOMEM, or -EINVAL with the reason why no
 * probe can run at a place. */
int hip_select_sites(struct hip_app_kernel *app, const struct gpubpf_lower_job *job, struct hip_draft *draft,
		     struct gpubpf_diag *diag);

#endif
