/* SPDX-License-Identifier: Apache-2.0 */
/* Prints instructions for readers of `kernel dump`. */
#ifndef GPUBPF_SASS_PRINT_H
#define GPUBPF_SASS_PRINT_H

#include <stdio.h>

#include "isa.h"

/* Prints guard, name, operands, predicates and control word of the instruction, then its 128 bits. Operands and
 * predicates are printed only for a form in isa.def. `target` is the index of the instruction that a branch targets; a
 * negative index is not printed. */
void sass_print_insn(FILE *to, struct sass_insn insn, int64_t target);

#endif
