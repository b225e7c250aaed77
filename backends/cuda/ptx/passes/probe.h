/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extracts probes from the PTX that the lowering emits. The lowering emits each site as an .entry without parameters.
 * The body of this entry becomes the text of a cuda_probe. The rest of the module becomes the twin's prelude.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_PROBE_H
#define GPUBPF_BACKENDS_CUDA_PTX_PROBE_H

#include "splice.h"

struct gpubpf_diag;

/*
 * Extracts the body of entry `name` of a module, without the braces. Each ret becomes a branch to a label at the end.
 * Each gpubpf_param_<i> becomes the name of parameter i of `function` in module `app`, and gpubpf_result becomes
 * CUDA_RESULT. The probe lists those members of `registers` that it uses. Returns 0, -ENOMEM, or -EINVAL if there is no
 * such entry or the entry has parameters. The caller frees the probe's text.
 */
int cuda_probe_extract(const struct ptx_module *m, const struct gpubpf_site_registers *registers, const char *name,
		       const struct ptx_module *app, uint32_t function, struct cuda_probe *probe,
		       struct gpubpf_diag *diag);
/*
 * Extracts a module's text without header, debug information, and entries whose names begin with `sites`. *text is
 * malloc'd.
 */
int cuda_prelude_extract(const struct ptx_module *m, const char *sites, char **text, size_t *size);

#endif
