/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the memory accesses of an instruction, from access.def and the bits of the instruction. */
#ifndef GPUBPF_SASS_ACCESS_H
#define GPUBPF_SASS_ACCESS_H

#include "core/model/places.h"
#include "isa.h"

struct sass_access {
	enum gpubpf_mem_access access;
	enum gpubpf_rmw op; /* operation of an atomic access; 0 for others */
	uint32_t spaces;    /* GPUBPF_IN bits of the memory spaces that may contain the address */
	uint32_t bytes;
	uint8_t address;       /* the first of two registers with the address; SASS_RZ: the address has no register */
	uint8_t uniform;       /* the first of two uniform registers that are added to the address; SASS_URZ:
	                            * none */
	bool near;             /* true for an access to shared, local or constant memory. `address` and `uniform` are
	                        * then single registers, and their sum is an offset in that space, not a generic
	                        * address. */
	uint8_t scale;         /* factor of the register `address` in a near access */
	int32_t offset;        /* constant that is added to the address, in bytes */
	uint8_t value, nvalue; /* value: the first of nvalue registers that are stored or combined; both are 0 if
	                        * there are none */
	uint8_t operand;       /* the first of nvalue registers with the operand of an atomic; for COMPARE, with
	                            * the value to compare */
	uint8_t old;           /* the first of nvalue registers that receive an atomic's old value; SASS_RZ: none */
	uint8_t second;        /* a second predicate that must be true for the access, plus 8 if negated; SASS_PT:
	                        * none */
	const char *why;       /* a clause for messages that says why the access is not known exactly; NULL: it is
	                        * known */
};

/* Decodes the access of the instruction. Returns false if the instruction accesses no memory. Reads of constants do
 * not count, because instructions read them as operands (backends/cuda/sass/analysis/places.c). */
bool sass_decode_access(const struct sass_arch *arch, struct sass_insn insn, struct sass_access *access);

/* Decodes the second access of an instruction with two accesses: LDGSTS loads and stores to shared memory. Returns
 * false if there is no second access. */
bool sass_decode_second_access(const struct sass_arch *arch, struct sass_insn insn, struct sass_access *access);

/* Does access.def have a row for this operation (bits 0..8 of the opcode), so that sass_decode_access() can describe
 * it? */
bool sass_access_known(uint32_t operation);

#endif
