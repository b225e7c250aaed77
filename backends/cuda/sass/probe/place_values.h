/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a place (place_values.def), known to the code that compiles probes and to the code that inserts them. */
#ifndef GPUBPF_SASS_GIVEN_H
#define GPUBPF_SASS_GIVEN_H

#include "backends/cuda/sass/isa/isa.h"

enum sass_input {
#define SASS_INPUT(field, name, lanes) SASS_INPUT_##name,
#include "place_values.def"
	SASS_NINPUTS,
};

#define SASS_INPUT_BASE 0x400000     /* address in local memory; no probe's stack reaches it */
#define SASS_INPUT_STRIDE 64         /* bytes from one value to the next, so that the assembler reads each separately */

/* The value of element i of a context field; SASS_NINPUTS: there is none. */
enum sass_input sass_find_input(const char *field, unsigned i);
/* Does each lane have its own value, in registers? */
bool sass_input_is_per_lane(enum sass_input given);
/* Must the assembler assume that each lane has its own value? */
bool sass_input_looks_per_lane(enum sass_input given);
/* Does the instruction of a probe read a place's value (LDL R, [any + offset])? *half: the half that it reads first. */
bool sass_is_input_load(struct sass_insn insn, enum sass_input *given, unsigned *half);

#endif
