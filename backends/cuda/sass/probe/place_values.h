/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a place (place_values.def), known to the code that compiles probes and to the code that inserts them. */
#ifndef GPUBPF_SASS_GIVEN_H
#define GPUBPF_SASS_GIVEN_H

#include "backends/cuda/sass/isa/isa.h"

enum sass_given {
#define SASS_GIVEN(field, name, lanes) SASS_GIVEN_##name,
#include "place_values.def"
	SASS_NGIVEN,
};

#define SASS_GIVEN_AT 0x400000     /* address in local memory; no probe's stack reaches it */
#define SASS_GIVEN_STEP 64         /* bytes from one value to the next, so that the assembler reads each separately */

/* The value of element i of a context field; SASS_NGIVEN: there is none. */
enum sass_given sass_given_of(const char *field, unsigned i);
/* Does each lane have its own value, in registers? */
bool sass_given_each(enum sass_given given);
/* Must the assembler assume that each lane has its own value? */
bool sass_given_apart(enum sass_given given);
/* Does the instruction of a probe read a place's value (LDL R, [any + offset])? *half: the half that it reads first. */
bool sass_reads_given(struct sass_insn insn, enum sass_given *given, unsigned *half);

#endif
