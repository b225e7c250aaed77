/* SPDX-License-Identifier: Apache-2.0 */
/* Between those who make probes and those who put them in: given.def. */
#ifndef GPUBPF_SASS_GIVEN_H
#define GPUBPF_SASS_GIVEN_H

#include "isa.h"

enum sass_given {
#define SASS_GIVEN(field, name, lanes) SASS_GIVEN_##name,
#include "given.def"
	SASS_NGIVEN,
};

#define SASS_GIVEN_AT 0x400000     /* in a lane's memory; no probe's stack reaches so far */
#define SASS_GIVEN_STEP 64         /* from one to the next, so that an assembler reads each by itself */

/* Of element i of a field; SASS_NGIVEN: none. */
enum sass_given sass_given_of(const char *field, unsigned i);
/* Has each lane its own, in registers? */
bool sass_given_each(enum sass_given given);
/* Is it to look to an assembler as if each had? */
bool sass_given_apart(enum sass_given given);
/* Does the instruction of a probe read a given, and which half of it first? LDL R, [any + offset]. */
bool sass_reads_given(struct sass_insn insn, enum sass_given *given, unsigned *half);

#endif
