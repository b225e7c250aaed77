/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that write the wave's register MODE, by their mnemonics and operands as LLVM's disassembler prints them. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_MODE_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "isa.h"

/* Returns true if the instruction makes the wave skip vector instructions, or index vector registers by other means
 * than s_set_gpr_idx_on. Both are bits of MODE from 27 on. */
bool hip_changes_vectors(const struct hip_isa *isa, const char *name, const char *operands);
/* Returns true if the instruction enables arithmetic exceptions: bits 12 to 20 of MODE, from gfx12 on a separate
 * register. Probes rely on disabled exceptions. */
bool hip_enables_exceptions(const char *name, const char *operands);

#endif
