/* SPDX-License-Identifier: Apache-2.0 */
/* The signature of a GPU kernel: the names and types of its parameters. */
#ifndef GPUBPF_SESSION_SIGNATURE_H
#define GPUBPF_SESSION_SIGNATURE_H

#include <stdio.h>

#include "core/load/load.h"

struct gpubpf_param;
struct gpubpf_signature; /* one malloc'd block */

/* Returns NULL if memory is short. */
struct gpubpf_signature *gpubpf_signature_create(const struct gpubpf_param *params, uint32_t n);
/* Copy parameters that gpubpf_signature_params() returned. */
struct gpubpf_signature *gpubpf_signature_copy(const struct gpubpf_typed_param *params, uint32_t n);
/* Returns the parameters and stores their number in *n. Returns NULL if they are not known. s may be NULL. */
const struct gpubpf_typed_param *gpubpf_signature_params(const struct gpubpf_signature *s, uint32_t *n);
/* "scale(float *x, uint n)" */
void gpubpf_signature_print(const struct gpubpf_signature *s, const char *kernel, FILE *out);

#endif
