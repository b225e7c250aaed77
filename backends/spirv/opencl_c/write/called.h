/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the wrapper of a function that has BPF programs at its calls and returns. In a twin, callers call the wrapper
 * instead of the function. The wrapper has its own environment, initialised from the kernel's environment. It calls the
 * site of the call, then the function (or its copy, if the function contains probed places), then the site of the
 * return.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_CALLED_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_CALLED_H

#include "weave.h"

/* Write the wrapper's declaration, "type name(parameters)". */
void gpubpf_call_wrapper_head(const struct gpubpf_weave *w, uint32_t function, FILE *out);
/* Write the wrapper of the function w->function. */
void gpubpf_call_wrapper_write(const struct gpubpf_weave *w, FILE *out);

#endif
