/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognizes instructions that write the wave's MODE register. An instruction is the mnemonic and the operands in the
 * notation of LLVM's disassembler.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_MODE_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "isa.h"

/* Returns true if the instruction makes the wave skip vector instructions, or enables indexing of vector registers
 * without s_set_gpr_idx_on. Both modes are bits of MODE from 27 on. */
bool hip_changes_vectors(const struct hip_isa *isa, const char *name, const char *operands);
/* Returns true if the instruction may enable arithmetic exceptions, which probes must not raise. The enable bits are
 * bits 12 to 20 of MODE. From gfx12 on they are in a separate register. */
bool hip_enables_exceptions(const char *name, const char *operands);

#endif
