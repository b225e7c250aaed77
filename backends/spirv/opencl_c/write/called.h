/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wrapper for a function with programs at its calls and returns. Callers call it instead of the function. It has a
 * separate environment, initialised from the kernel's. It calls the call site, the function or its copy with places,
 * and the return site.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_CALLED_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_CALLED_H

#include "weave.h"

/* Write "type name(parameters)". */
void gpubpf_call_wrapper_head(const struct gpubpf_weave *w, uint32_t function, FILE *out);
/* Write the wrapper of w's function. */
void gpubpf_call_wrapper_write(const struct gpubpf_weave *w, FILE *out);

#endif
