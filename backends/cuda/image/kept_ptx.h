/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the PTX that ptxas stored in a cubin, and the cubin's virtual architecture. The input is not trusted. */
#ifndef GPUBPF_BACKENDS_CUDA_IMAGE_KEPT_PTX_H
#define GPUBPF_BACKENDS_CUDA_IMAGE_KEPT_PTX_H

#include <stddef.h>
#include <stdint.h>

struct gpubpf_diag;

/* Returns the PTX that ptxas -lineinfo stores in a cubin, malloc'd, or -ENOENT if there is none. */
int cubin_ptx(const void *data, size_t size, char **text, size_t *text_size, struct gpubpf_diag *diag);

/*
 * Returns the virtual architecture for which the cubin was compiled, without its suffix: 90 for compute_90, compute_90a
 * and compute_90f. Returns 0 if the cubin does not state it.
 */
uint32_t cubin_virtual(const void *data, size_t size);

#endif
