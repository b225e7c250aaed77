/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function with programs where it is called and where it returns: what is called instead of it. It has an environment of
 * its own, which begins as the kernel's, calls the one site, the function itself or its copy with places, and the other site.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_CALLED_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_CALLED_H

#include "weave.h"

/* "type name(parameters)" */
void gpubpf_called_head(const struct gpubpf_weave *w, uint32_t function, FILE *out);
/* The whole of it, of w's function. */
void gpubpf_called_write(const struct gpubpf_weave *w, FILE *out);

#endif
