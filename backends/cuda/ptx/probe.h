/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lowering's PTX, as something to inline: it emits each site as an .entry without parameters; its
 * body becomes the statements of a cuda_probe, everything else of the module the twin's prelude.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_PROBE_H
#define GPUBPF_BACKENDS_CUDA_PTX_PROBE_H

#include "splice.h"

struct gpubpf_diag;

/*
 * Statements of entry `name` of a module: its body without the braces, every ret a jump to the label
 * behind it, every gpubpf_param_<i> the name of parameter i of `function` of module `app`, gpubpf_result CUDA_RESULT. The
 * probe's text is malloc'd. -EINVAL when there is no such entry or it has parameters.
 */
int cuda_probe_extract(const struct ptx_module *m, const char *name, const struct ptx_module *app, uint32_t function,
		       struct cuda_probe *probe, struct gpubpf_diag *diag);
/* The module without header, debug information and the entries whose names begin with `sites`. malloc'd. */
int cuda_prelude_extract(const struct ptx_module *m, const char *sites, char **text, size_t *size);

#endif
