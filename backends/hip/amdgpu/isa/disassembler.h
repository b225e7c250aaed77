/* SPDX-License-Identifier: Apache-2.0 */
/* LLVM's disassembler for a processor. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_DISASSEMBLER_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_DISASSEMBLER_H

#include <stdbool.h>

#include <llvm-c/Disassembler.h>

#include "isa.h"

/* Creates a disassembler for waves of 32 lanes or of 64; wave32 counts only if the processor has both. The caller
 * disposes of it with LLVMDisasmDispose(). NULL: LLVM cannot create one. */
LLVMDisasmContextRef hip_disassembler_create(const struct hip_isa *isa, bool wave32);

#endif
