/* SPDX-License-Identifier: Apache-2.0 */
/* Creates LLVM's disassembler for a processor. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_DISASSEMBLER_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_DISASSEMBLER_H

#include <stdbool.h>

#include <llvm-c/Disassembler.h>

#include "isa.h"

/* Creates a disassembler. `wave32` selects waves of 32 lanes instead of 64; it has no effect on processors that only
 * have waves of 64. The caller frees the result with LLVMDisasmDispose(). Returns NULL if LLVM cannot create a
 * disassembler. */
LLVMDisasmContextRef hip_disassembler_create(const struct hip_isa *isa, bool wave32);

#endif
