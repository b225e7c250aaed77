/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads of the application's __constant__ variables, which lie in c[0x3] of its module. A twin, a module of its own, has
 * another bank there: so each such instruction becomes a branch to a stub, in which what it reads is loaded from where the
 * original has it in memory, whose address the agent fills in. What the application, or a kernel of its, has written there
 * before the launch is seen so, in graphs as well. A constant operand of arithmetic becomes a register; the instruction
 * itself is carried out in the stub. Registers above the kernel's alone are used besides, and nothing is left in flight.
 */
#ifndef GPUBPF_SASS_CONSTANT_H
#define GPUBPF_SASS_CONSTANT_H

#include "code.h"
#include "form.h"

struct sass_grafted;

#define SASS_CONSTANTS ".nv.constant3" /* the section, */
#define SASS_CONSTANTS_BANK 3
#define SASS_CONSTANTS_MOST 0x10000 /* and how large it is at most */

enum sass_constant_way {
	SASS_CONSTANT_LOADED,      /* LDC: into registers, */
	SASS_CONSTANT_UNIFORM,     /* ULDC, LDCU: into uniform ones */
	SASS_CONSTANT_B,           /* an operand of arithmetic: B, which stands where the constant is, */
	SASS_CONSTANT_C,           /* or C, with B in the field of C */
};

struct sass_constant {
	enum sass_constant_way way;
	uint32_t off, bytes;       /* in the bank */
	uint32_t index;            /* a register that is added, or a uniform one; SASS_RZ: none */
	bool uniform_index;
};

#define SASS_CONSTANT_NEGATIVE 0x8000 /* beside an index, from here on an offset may be one with a sign */

/* What the instruction, which reads c[0x3], reads there. False: it does so in a way that is not known. */
bool sass_constant_of(struct sass_insn insn, struct sass_constant *constant);
/* An instruction of arithmetic with a register in the place of the constant; a slow one has a scoreboard, by which it can be
 * waited for. */
struct sass_insn sass_constant_by(struct sass_insn insn, enum sass_constant_way way, unsigned reg);

/* half of an address of the bank's memory, as a number of instruction `at` */
struct sass_constant_address {
	uint32_t at, off;
	bool high;
};

/* Registers that stubs use, from one on that is a multiple of 4: the address, an index, how far that is from the end, and
 * what was read. */
enum sass_constant_register { SASS_CONSTANT_ADDRESS, SASS_CONSTANT_INDEX = 2, SASS_CONSTANT_BEYOND, SASS_CONSTANT_VALUE,
			      SASS_CONSTANT_REGISTERS = 8 };
#define SASS_CONSTANT_BOARD 5      /* scoreboard that tells when it is there */

/* Instructions that stubs are at most. */
size_t sass_constants_room(const struct sass_code *code);
/* The stubs, behind what was grafted; each waits first for what these scoreboards say. -ENOMEM. */
int sass_constants_put(const struct sass_code *code, unsigned left, struct sass_grafted *out);

#endif
