/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_LINK_TWIN_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_LINK_TWIN_H

#include "inlined_probes.h"

/* Links `object`, the assembled code of the twin, with the probes into a code object. The caller frees out->data.
 * Returns 0, -ENOMEM, or -EINVAL with the reason. */
int hip_link_twin(const struct hip_app_kernel *app, const struct hip_probes *probes, const struct hip_draft *draft,
		  const struct gpubpf_blob *object, struct gpubpf_blob *out, struct gpubpf_diag *diag);

#endif
