/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_MOVES_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_MOVES_H

#include <stddef.h>
#include <stdint.h>

#include "isa.h"

/*
 * gfx90a's v_pk_mov_b32 from scalar registers and constants becomes two v_mov_b32 of the same length and effect,
 * in code that LLVM made for us. The simulator that we test with reads vector registers in their place.
 */
void hip_split_moves(const struct hip_isa *isa, uint8_t *text, size_t size);

#endif
