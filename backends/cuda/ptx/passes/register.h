/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of instructions as numbers of 64 bits. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_REGISTER_H
#define GPUBPF_BACKENDS_CUDA_PTX_REGISTER_H

#include "edit.h"

#define PTX_PREDICATE 1

/* Returns the width in bits of the register that a token at that node names, or PTX_PREDICATE. 0: it names no
 * register. */
uint32_t ptx_register_bits(const struct ptx_module *m, uint32_t node, uint32_t token);
/* Emits code that puts the address of the variable named by a token, in its state space, into the .b64 register `to`.
 * Returns 0, or -EINVAL if the token names no variable. */
int ptx_emit_variable(struct ptx_splice *in, struct ptx_text *text, uint32_t node, uint32_t token, const char *to);
/* Emits code that puts the low `bytes` (1 to 8) of the operand at a token into `to`. The operand is a register, a
 * number, or a variable's address. Returns 0, or -EINVAL for any other operand. */
int ptx_emit_element(struct ptx_splice *in, struct ptx_text *text, uint32_t node, uint32_t token, uint32_t bytes,
		     const char *to);

#endif
