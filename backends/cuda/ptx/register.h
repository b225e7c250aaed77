/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of instructions as numbers of 64 bits. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_REGISTER_H
#define GPUBPF_BACKENDS_CUDA_PTX_REGISTER_H

#include "edit.h"

#define PTX_PREDICATE 1

/* Bits of the register that a token at that node names, PTX_PREDICATE of a predicate; 0: it names none. */
uint32_t ptx_register_bits(const struct ptx_module *m, uint32_t node, uint32_t token);
/* Into the .b64 register `to` the address, in its space, of the variable that a token names. 0; -EINVAL: it names none. */
int ptx_put_variable(struct ptx_splice *in, struct ptx_text *text, uint32_t node, uint32_t token, const char *to);
/* The low `bytes`, 1 to 8, of an operand that begins at a token: a register, a number, a variable's address. 0; -EINVAL:
 * it is none of these. */
int ptx_put_element(struct ptx_splice *in, struct ptx_text *text, uint32_t node, uint32_t token, uint32_t bytes,
		    const char *to);

#endif
