/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_AROUND_H
#define GPUBPF_BACKENDS_CUDA_PTX_AROUND_H

#include "access.h"
#include "edit.h"

/* Put the probes of the places of one instruction before and after it. */
void ptx_edit_around(struct ptx_splice *in, uint32_t function, const struct ptx_placed *placed, uint32_t n);
/* Behind an instruction: the probes of those before it that run there. */
void ptx_edit_behind(struct ptx_splice *in, uint32_t function, uint32_t node);
/* late.c: says of the function's places behind which instruction their probes run. */
void ptx_find_late(struct ptx_splice *in);

#endif
