/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the memory accesses of an instruction, from access.def and the bits of the instruction. */
#ifndef GPUBPF_SASS_ACCESS_H
#define GPUBPF_SASS_ACCESS_H

#include "core/model/places.h"
#include "isa.h"

struct sass_access {
	enum gpubpf_mem_access access;
	enum gpubpf_rmw op; /* operation of an atomic access; 0 for others */
	uint32_t spaces;    /* GPUBPF_IN bits of the spaces that may hold the address */
	uint32_t bytes;
	uint8_t address;       /* the first of two registers with the address; SASS_RZ: 0 */
	uint8_t uniform;       /* the first of two uniform registers that are added to the address; SASS_URZ:
	                            * none */
	bool near;             /* an access to shared, local or constant memory: `address` and `uniform` are
	                            * single registers, and their sum is an offset in that space, not a generic
	                            * address */
	uint8_t scale;         /* factor of `address` in a near access */
	int32_t offset;        /* constant that is added to the address, in bytes */
	uint8_t value, nvalue; /* value: the first of nvalue registers that are stored or combined; 0 and 0: none */
	uint8_t operand;       /* the first of nvalue registers with the operand of an atomic; for COMPARE, with
	                            * the value to compare */
	uint8_t old;           /* the first of nvalue registers that receive an atomic's old value; SASS_RZ: none */
	uint8_t second;        /* a second predicate that must hold for the access, plus 8 if negated; SASS_PT:
	                            * none */
	const char *why;       /* the reason why the access is not known exactly, a clause for messages; NULL: it
	                            * is */
};

/* Decodes the access of the instruction. False: it accesses no memory. Reads of constants do not count, because
 * instructions read them as operands (backends/cuda/sass/analysis/places.c). */
bool sass_decode_access(const struct sass_arch *arch, struct sass_insn insn, struct sass_access *access);

/* Decodes the second access of an instruction with two: LDGSTS, a copy to shared memory, also stores. False: there
 * is none. */
bool sass_decode_second_access(const struct sass_arch *arch, struct sass_insn insn, struct sass_access *access);

/* Does access.def have a row for this operation (bits 0..8 of the opcode), so that sass_decode_access() can describe
 * it? */
bool sass_access_known(uint32_t operation);

#endif
