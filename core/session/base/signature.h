/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a kernel. */
#ifndef GPUBPF_SESSION_SIGNATURE_H
#define GPUBPF_SESSION_SIGNATURE_H

#include <stdio.h>

#include "core/load/load.h"

struct gpubpf_param;
struct gpubpf_signature; /* one malloc'd block */

/* NULL: out of memory */
struct gpubpf_signature *gpubpf_signature_create(const struct gpubpf_param *params, uint32_t n);
/* Copy parameters that gpubpf_signature_params() returned. */
struct gpubpf_signature *gpubpf_signature_copy(const struct gpubpf_typed_param *params, uint32_t n);
/* The parameters, *n of them; NULL: not known. s may be NULL. */
const struct gpubpf_typed_param *gpubpf_signature_params(const struct gpubpf_signature *s, uint32_t *n);
/* "scale(float *x, uint n)" */
void gpubpf_signature_print(const struct gpubpf_signature *s, const char *kernel, FILE *out);

#endif
