/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to code.c: records properties of an instruction. All functions take the mnemonic and operands in the notation
 * of LLVM's disassembler.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_PATCH_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_PATCH_H

#include "code.h"

/* Updates the numbers of used registers in *code, and code->matrix if it is a matrix instruction. */
void hip_code_record_registers(struct hip_code *code, const char *name, const char *operands);
/* Reads the two registers of an operand such as s[4:5] or vcc into patch->reg. Returns false for any other operand. */
bool hip_patch_read_pair(struct hip_patch *patch, const char *text);
/* Records the opcode and the registers in the patch, where gpu/insn programs can read them. */
void hip_patch_describe(struct hip_patch *patch, const char *name, const char *operands);

#endif
