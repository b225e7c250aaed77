/* SPDX-License-Identifier: Apache-2.0 */
/* Private to code.c: what it records about an instruction, from its mnemonic and operands as LLVM's disassembler prints
 * them. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_PATCH_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_PATCH_H

#include "code.h"

/* Records the registers and the matrix instructions that the code has. */
void hip_code_record_registers(struct hip_code *code, const char *name, const char *operands);
/* Reads the two registers of an operand such as s[4:5] or vcc into patch->reg. Returns false for any other operand. */
bool hip_patch_read_pair(struct hip_patch *patch, const char *text);
/* Records the opcode and the registers, which programs at any instruction can read. */
void hip_patch_describe(struct hip_patch *patch, const char *name, const char *operands);

#endif
