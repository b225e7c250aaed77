/* SPDX-License-Identifier: Apache-2.0 */
/* The registers that a kernel's instruction names. The forms of isa.def describe them; operands.def adds forms that no
 * probe has. */
#ifndef GPUBPF_SASS_OPERANDS_H
#define GPUBPF_SASS_OPERANDS_H

#include "form.h"

bool sass_operands_known(const struct sass_arch *arch, struct sass_insn insn);
/* The general and uniform registers in field order: destination, A, B, C. RZ and URZ have n 0. Returns how many; 0 for
 * an unknown instruction. A memory descriptor is not counted. */
unsigned sass_operands_named(const struct sass_arch *arch, struct sass_insn insn, struct sass_operand named[SASS_OPERANDS]);

#endif
