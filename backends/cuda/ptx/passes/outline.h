/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outlines probes. If a probe is at very many instructions, the assembler takes long when every place has a copy of it.
 * Such a probe becomes a function of the twin that each place calls, with the place's operands as parameters.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_OUTLINE_H
#define GPUBPF_BACKENDS_CUDA_PTX_OUTLINE_H

#include <stdbool.h>

#include "splice.h"

/* Returns true if inlining a copy of the probes at each place exceeds the text limit. Outlined probes cannot use
 * accumulators in registers of the calling function, so the caller must emit the probes again without them. */
bool cuda_probes_exceed_limit(const struct gpubpf_lower_job *job, const struct cuda_probe *probes);
/* Replaces probes by calls and appends their text as functions to the prelude, which is malloc'd. Returns 0 or
 * -ENOMEM. */
int cuda_outline_probes(const struct gpubpf_lower_job *job, struct cuda_probe *probes, char **prelude, size_t *size);

#endif
