/* SPDX-License-Identifier: Apache-2.0 */
/* The memory accesses of an instruction, by access.def and the instruction's bits. */
#ifndef GPUBPF_SASS_ACCESS_H
#define GPUBPF_SASS_ACCESS_H

#include "core/model/places.h"
#include "isa.h"

struct sass_access {
	enum gpubpf_mem_access access;
	enum gpubpf_rmw op;        /* operation of an atomic access; else 0 */
	uint32_t spaces;           /* GPUBPF_IN bits of the spaces that may hold the address */
	uint32_t bytes;
	uint8_t address;           /* the first of two registers; SASS_RZ: 0 */
	uint8_t uniform;           /* the first of two uniform registers that are added; SASS_URZ: none */
	bool near;                 /* both are single registers; their sum is an offset in the space, and no generic
	                            * address is known here */
	uint8_t scale;             /* factor of `address` if near */
	int32_t offset;            /* constant that is added */
	uint8_t value, nvalue;     /* registers that are stored or combined; 0: none */
	uint8_t operand;           /* the first of nvalue registers with an atomic's operand, or with the value that
	                            * COMPARE compares */
	uint8_t old;               /* the first of nvalue registers that receive an atomic's old value; SASS_RZ: none */
	uint8_t second;            /* a second predicate that must hold for the access, plus 8 if negated; SASS_PT:
	                            * none */
	const char *why;           /* why the access is not known exactly; NULL: it is */
};

/* Does the instruction access memory? Constants do not count: instructions read them as operands (backends/cuda/sass/analysis/places.c). */
bool sass_decode_access(const struct sass_arch *arch, struct sass_insn insn, struct sass_access *access);

/* Does it have a second access? LDGSTS, a lane's copy to shared memory, also stores. */
bool sass_decode_second_access(const struct sass_arch *arch, struct sass_insn insn, struct sass_access *access);

/* Is the operation in the table? */
bool sass_access_known(uint32_t operation);

#endif
