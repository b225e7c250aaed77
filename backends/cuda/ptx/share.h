/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes that stand at so many instructions that as many copies would take assemblers long: one function of the twin's, which
 * is called at each place. What places give are its parameters.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_SHARE_H
#define GPUBPF_BACKENDS_CUDA_PTX_SHARE_H

#include <stdbool.h>

#include "splice.h"

/* Are the copies of such probes, one a place, more text than a twin should have? Sums that its function keeps in registers a
 * function cannot have: these probes are to be emitted without. */
bool cuda_probes_are_many(const struct gpubpf_lower_job *job, const struct cuda_probe *probes);
/* The probes become calls, and their text functions at the end of the prelude, which is malloc'd. -ENOMEM. */
int cuda_share_probes(const struct gpubpf_lower_job *job, struct cuda_probe *probes, char **prelude, size_t *size);

#endif
