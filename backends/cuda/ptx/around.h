/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_AROUND_H
#define GPUBPF_BACKENDS_CUDA_PTX_AROUND_H

#include "access.h"
#include "edit.h"

/* Put the probes of the places of one instruction before and after it. */
void ptx_edit_around(struct ptx_splice *in, uint32_t function, const struct ptx_placed *placed, uint32_t n);
/* Behind an instruction: the probes of those before it that run there. */
void ptx_edit_behind(struct ptx_splice *in, uint32_t function, uint32_t node);
/* Is the probe of a place at an instruction run by all lanes that come to that? */
bool ptx_all_take_part(struct ptx_splice *in, const struct ptx_placed *at);
/* late.c: says of the function's places behind which instruction their probes run. */
void ptx_find_late(struct ptx_splice *in);
/* An instruction of one lane that does nothing but give a register? There are more of them. */
bool ptx_gives_register(const struct ptx_module *m, const struct ptx_node *insn);
/* came.c: says of the function's places which of them the same lanes pass. */
void ptx_find_came(struct ptx_splice *in);

#endif
