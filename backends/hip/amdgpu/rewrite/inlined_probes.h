/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of a twin as LLVM compiled them: an object with a GPU kernel gpubpf_inline_<site> for each site. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_INLINED_PROBES_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_INLINED_PROBES_H

#include "backends/hip/amdgpu/analysis/found_kernel.h"
#include "stub.h"

struct hip_probes {
	struct gpubpf_blob blob;
	struct hip_elf elf;
};

/* Copies the descriptor of a site's probe to *d, and finds the probe's code. *off is the code's offset in its section.
 * Returns 0, or -EINVAL with the reason. */
int hip_probe_read(const struct hip_probes *probes, uint32_t site, struct hip_descriptor *d, uint64_t *off,
		   const uint8_t **code, size_t *size, struct gpubpf_diag *diag);
/* Returns the aligned end of the original kernel's arguments, in bytes. The words that the agent sets at each launch
 * begin there. */
uint32_t hip_arguments_end(const struct hip_app_kernel *app);
/* Adds the descriptors, operands and registers of all probes to the draft, and allocates the registers of the twin's
 * stubs. */
int hip_draft_add_probes(const struct hip_app_kernel *app, const struct hip_probes *probes, struct hip_draft *draft,
			 struct gpubpf_diag *diag);
/* Patches the code of the probes at single instructions, so that they read operands from the draft's registers. */
int hip_probes_place_operands(const struct hip_draft *draft, const struct hip_probes *probes, struct gpubpf_diag *diag);

#endif
