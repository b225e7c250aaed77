/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outlines probes. If a probe runs at very many instructions, the assembler takes long for a copy of the probe at each
 * place. Such a probe becomes a function of the twin. Each place calls this function and passes the place's operands as
 * parameters.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_OUTLINE_H
#define GPUBPF_BACKENDS_CUDA_PTX_OUTLINE_H

#include <stdbool.h>

#include "splice.h"

/*
 * Returns true if copies of the probes at all places exceed the text limit. Outlined probes cannot use accumulators in
 * registers of the calling function, so the caller must then emit the probes again without accumulators.
 */
bool cuda_probes_exceed_limit(const struct gpubpf_lower_job *job, const struct cuda_probe *probes);
/*
 * Replaces probes by calls, and appends the probes' text as functions to the prelude, which is malloc'd. Returns 0 or
 * -ENOMEM.
 */
int cuda_outline_probes(const struct gpubpf_lower_job *job, struct cuda_probe *probes, char **prelude, size_t *size);

#endif
