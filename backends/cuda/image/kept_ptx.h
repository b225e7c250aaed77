/* SPDX-License-Identifier: Apache-2.0 */
/* What machine code says of the PTX that it was made of. Nothing is trusted. */
#ifndef GPUBPF_BACKENDS_CUDA_IMAGE_KEPT_PTX_H
#define GPUBPF_BACKENDS_CUDA_IMAGE_KEPT_PTX_H

#include <stddef.h>
#include <stdint.h>

struct gpubpf_diag;

/* The PTX that ptxas -lineinfo keeps in a cubin, malloc'd. -ENOENT: there is none. */
int cubin_ptx(const void *data, size_t size, char **text, size_t *text_size, struct gpubpf_diag *diag);

/* The virtual architecture that the PTX was for: 90 for compute_90 (90a, 90f); 0: the cubin does not say. */
uint32_t cubin_virtual(const void *data, size_t size);

#endif
