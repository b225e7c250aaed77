/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the sass target share. */
#ifndef GPUBPF_TESTS_CUDA_SASS_PROBES_H
#define GPUBPF_TESTS_CUDA_SASS_PROBES_H

#include "core/target.h"

/* PTX as machine code, by the assembler that is installed; -EOPNOTSUPP where there is none, and the diagnostic says so. */
int assemble(const struct gpubpf_device_caps *caps, const struct gpubpf_blob *ptx, struct gpubpf_twin_image *made,
	     struct gpubpf_diag *diag);
/* The job's probes as machine code, likewise. */
int make_probes(const struct gpubpf_lower_job *job, struct gpubpf_twin_image *probes, struct gpubpf_diag *diag);

#endif
