/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extracts probes from the PTX that the lowering emits. The lowering emits each site as an .entry without parameters.
 * The body of an entry becomes the statements of a cuda_probe; the rest of the module becomes the twin's prelude.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_PROBE_H
#define GPUBPF_BACKENDS_CUDA_PTX_PROBE_H

#include "splice.h"

struct gpubpf_diag;

/*
 * Extracts entry `name` of a module: its body without the braces. Every ret becomes a branch to a label at the end.
 * Every gpubpf_param_<i> becomes the name of parameter i of `function` of module `app`, and gpubpf_result becomes
 * CUDA_RESULT.
 * The caller frees the probe's text. Returns 0, -ENOMEM, or -EINVAL if there is no such entry or it has parameters.
 */
int cuda_probe_extract(const struct ptx_module *m, const char *name, const struct ptx_module *app, uint32_t function,
		       struct cuda_probe *probe, struct gpubpf_diag *diag);
/* Extracts the module without its header, debug information, and the entries whose names begin with `sites`. The text
 * is malloc'd. */
int cuda_prelude_extract(const struct ptx_module *m, const char *sites, char **text, size_t *size);

#endif
