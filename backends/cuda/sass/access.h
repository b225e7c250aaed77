/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction does to memory, by access.def and its own bits. */
#ifndef GPUBPF_SASS_ACCESS_H
#define GPUBPF_SASS_ACCESS_H

#include "core/places.h"
#include "isa.h"

struct sass_access {
	enum gpubpf_mem_access access;
	enum gpubpf_rmw op;        /* of an atomic; 0 of another */
	uint32_t spaces;           /* GPUBPF_IN: of which the address may be */
	uint32_t bytes;
	uint8_t address;           /* the first of two registers; SASS_RZ: 0 */
	uint8_t uniform;           /* of two uniform registers that are added; SASS_URZ: none */
	bool near;                 /* both are one; what they give is an offset in the space, and has no generic address here */
	uint8_t scale;             /* what address is multiplied with then */
	int32_t offset;            /* and what else is added */
	uint8_t value, nvalue;     /* registers that are stored or combined; 0: none */
	uint8_t operand;           /* as many, of an atomic: what it is done with, or of COMPARE what is compared */
	uint8_t old;               /* as many, that an atomic gives; SASS_RZ: it gives none */
	uint8_t second;            /* a predicate, and 8 where it is negated, without which it is none either; SASS_PT */
	const char *why;           /* it cannot be told exactly; NULL: it can */
};

/* Is it an access of memory? Constants count for none: instructions read them as operands (places.c). */
bool sass_access_of(const struct sass_arch *arch, struct sass_insn insn, struct sass_access *access);

/* Is it another too: of a copy to shared memory that a lane does, the store? */
bool sass_second_access_of(const struct sass_arch *arch, struct sass_insn insn, struct sass_access *access);

/* Is the operation in the table at all? */
bool sass_access_known(uint32_t operation);

#endif
