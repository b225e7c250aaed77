/* SPDX-License-Identifier: Apache-2.0 */
/* The registers that a kernel's instruction names, by the forms of isa.def and, of what no probe has, by operands.def. */
#ifndef GPUBPF_SASS_OPERANDS_H
#define GPUBPF_SASS_OPERANDS_H

#include "form.h"

bool sass_operands_known(const struct sass_arch *arch, struct sass_insn insn);
/* General and uniform ones: what is written, A, B, C; RZ and URZ with n 0. How many; of an instruction
 * that is not known none. A descriptor of memory is none. */
unsigned sass_operands_named(const struct sass_arch *arch, struct sass_insn insn, struct sass_operand named[SASS_OPERANDS]);

#endif
