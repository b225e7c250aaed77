/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the register operands of any kernel instruction. isa.def describes the forms that probes may contain;
 * operands.def describes further forms. */
#ifndef GPUBPF_SASS_OPERANDS_H
#define GPUBPF_SASS_OPERANDS_H

#include "form.h"

/* Are the register operands of the instruction known? */
bool sass_operands_known(const struct sass_arch *arch, struct sass_insn insn);
/* Writes the general and uniform register operands to `named`, in the order destination, A, B, C. RZ and URZ have n
 * = 0. A memory descriptor does not count. Returns the number of operands; 0 for an unknown instruction. */
unsigned sass_operands_named(const struct sass_arch *arch, struct sass_insn insn,
			     struct sass_operand named[SASS_OPERANDS]);

#endif
