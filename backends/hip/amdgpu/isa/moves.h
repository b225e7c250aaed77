/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_MOVES_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_MOVES_H

#include <stddef.h>
#include <stdint.h>

#include "isa.h"

/*
 * Does: replaces gfx90a's v_pk_mov_b32 from scalar registers and constants by two v_mov_b32.
 * Before: code that LLVM compiled for us. The simulator used for tests reads vector registers instead of these sources.
 * After: code of the same length and effect.
 * Requires: the bytes of a text section; other families are left unchanged.
 */
void hip_split_moves(const struct hip_isa *isa, uint8_t *text, size_t size);

#endif
