/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a place (place_values.def), such as the address of an access. The compiler of probes (env.c) loads each
 * from a reserved local address; the stub writer replaces these loads. */
#ifndef GPUBPF_SASS_PLACE_VALUES_H
#define GPUBPF_SASS_PLACE_VALUES_H

#include "backends/cuda/sass/isa/isa.h"

enum sass_input {
#define SASS_INPUT(field, name, lanes) SASS_INPUT_##name,
#include "place_values.def"
	SASS_NINPUTS,
};

#define SASS_INPUT_BASE 0x400000     /* first of the reserved addresses in local memory; no probe's stack reaches it */
#define SASS_INPUT_STRIDE 64         /* bytes from one value to the next; wide enough that the assembler does not
                                      * merge the loads */

/* Returns the place value for element i of a context field; SASS_NINPUTS: there is none. */
enum sass_input sass_find_input(const char *field, unsigned i);
/* Does the value differ between lanes, so that the stub keeps it in registers? Else it is a constant of the place. */
bool sass_input_is_per_lane(enum sass_input value);
/* Must the assembler assume that the value differs between lanes? True also for constants of class ANY
 * (place_values.def). */
bool sass_input_looks_per_lane(enum sass_input value);
/* Is the instruction the load of a place value (LDL R, [any + offset])? Sets *value to the value and *half to the
 * first 32-bit half that it loads: 0 is the low one. */
bool sass_is_input_load(struct sass_insn insn, enum sass_input *value, unsigned *half);

#endif
