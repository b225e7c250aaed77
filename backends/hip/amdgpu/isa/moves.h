/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_MOVES_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_MOVES_H

#include <stddef.h>
#include <stdint.h>

#include "isa.h"

/*
 * Does: replaces gfx90a's v_pk_mov_b32 with scalar or constant sources by two v_mov_b32. The simulator that the tests
 * use would read vector registers instead of these sources.
 * Before: code that LLVM compiled for gpubpf.
 * After: code of the same length and effect.
 * Requires: `text` is the contents of a text section. Code for other processor families stays unchanged.
 */
void hip_split_moves(const struct hip_isa *isa, uint8_t *text, size_t size);

#endif
