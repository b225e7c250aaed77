/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the tests of the SASS target share. */
#ifndef GPUBPF_TESTS_CUDA_SASS_PROBES_H
#define GPUBPF_TESTS_CUDA_SASS_PROBES_H

#include "core/target.h"

/*
 * Assembles PTX to machine code with the installed assembler. Returns -EOPNOTSUPP with a diagnostic if there is none.
 */
int assemble(const struct gpubpf_device_caps *caps, const struct gpubpf_blob *ptx, struct gpubpf_twin_image *made,
	     struct gpubpf_diag *diag);
/* Compiles the job's probes to machine code. Returns the same errors. */
int make_probes(const struct gpubpf_lower_job *job, struct gpubpf_twin_image *probes, struct gpubpf_diag *diag);

#endif
