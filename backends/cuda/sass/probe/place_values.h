/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a place (place_values.def), such as the address of an access. The compiler of probes (env.c) loads each
 * value from a reserved address in local memory. The stub writer replaces these loads. */
#ifndef GPUBPF_SASS_PLACE_VALUES_H
#define GPUBPF_SASS_PLACE_VALUES_H

#include "backends/cuda/sass/isa/isa.h"

enum sass_input {
#define SASS_INPUT(field, name, lanes) SASS_INPUT_##name,
#include "place_values.def"
	SASS_NINPUTS,
};

#define SASS_INPUT_BASE 0x400000     /* first of the reserved addresses in local memory, beyond the stack of every
                                      * probe */
#define SASS_INPUT_STRIDE 64         /* bytes from one value to the next, far enough that the assembler does not
                                      * merge the loads */

/* Returns the place value for element i of a field of the context; SASS_NINPUTS: there is none. */
enum sass_input sass_find_input(const char *field, unsigned i);
/* Does the value differ between lanes? Then the stub keeps it in registers. Otherwise the value is a constant of the
 * place. */
bool sass_input_is_per_lane(enum sass_input value);
/* Must the assembler assume that the value differs between lanes? This is also true for constants of class ANY
 * (place_values.def). */
bool sass_input_looks_per_lane(enum sass_input value);
/* Is the instruction the load of a place value (LDL R, [any + offset])? Sets *value to the place value. Sets *half
 * to the first 32-bit half that the instruction loads; 0 is the low half. */
bool sass_is_input_load(struct sass_insn insn, enum sass_input *value, unsigned *half);

#endif
