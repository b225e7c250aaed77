/* SPDX-License-Identifier: Apache-2.0 */
/* Emits code that converts operands of PTX instructions to 64-bit numbers. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_REGISTER_H
#define GPUBPF_BACKENDS_CUDA_PTX_REGISTER_H

#include "edit.h"

#define PTX_PREDICATE 1

/*
 * Returns the width in bits of the register that `token` names at that node. Returns PTX_PREDICATE for a predicate, or
 * 0 if the token names no register.
 */
uint32_t ptx_register_bits(const struct ptx_module *m, uint32_t node, uint32_t token);
/*
 * Emits code that puts the address of a variable into the .b64 register `to`. `token` names the variable; the address
 * is one in the variable's state space. Returns 0, or -EINVAL if the token names no variable.
 */
int ptx_emit_variable(struct ptx_splice *in, struct ptx_text *text, uint32_t node, uint32_t token, const char *to);
/*
 * Emits code that puts the low `bytes` (1 to 8) bytes of an operand into `to`. The operand at `token` is a register, a
 * number, or a variable, whose address is taken. Returns 0, or -EINVAL for any other operand.
 */
int ptx_emit_element(struct ptx_splice *in, struct ptx_text *text, uint32_t node, uint32_t token, uint32_t bytes,
		     const char *to);

#endif
