/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes instructions that read the application's __constant__ variables, which are in constant bank 3 (c[0x3]) of its
 * module. Stubs replace these instructions (backends/cuda/sass/rewrite/constant_stub.h). Also declares what the writer
 * of the stubs shares with the checker.
 */
#ifndef GPUBPF_SASS_CONSTANT_H
#define GPUBPF_SASS_CONSTANT_H

#include "form.h"

#define SASS_CONSTANTS ".nv.constant3" /* name of the section with the __constant__ variables */
#define SASS_CONSTANTS_BANK 3
#define SASS_CONSTANTS_MAX_BYTES 0x10000 /* maximum size of that section in bytes */

enum sass_constant_way {
	SASS_CONSTANT_LOADED,  /* LDC: loads into registers */
	SASS_CONSTANT_UNIFORM, /* ULDC, LDCU: load into uniform registers */
	SASS_CONSTANT_B,       /* arithmetic: the constant is operand B, in the field of B */
	SASS_CONSTANT_C,       /* arithmetic: the constant is operand C, in the field of B; operand B is in the
	                            * field of C */
};

struct sass_constant {
	enum sass_constant_way way;
	uint32_t off, bytes; /* offset in c[0x3] and size, in bytes */
	uint32_t index;      /* the general or uniform register that is added to the offset; SASS_RZ: none */
	bool uniform_index;
};

#define SASS_CONSTANT_NEGATIVE 0x8000 /* if there is an index, offsets from here on may stand for negative 16-bit
                                       * numbers */

/* Decodes an instruction that reads c[0x3]. Returns false if the form of the read is unknown. */
bool sass_decode_constant_read(struct sass_insn insn, struct sass_constant *constant);
/* Returns the arithmetic instruction with register `reg` in place of the constant operand. A slow instruction
 * without a scoreboard gets SASS_CONSTANT_BOARD. */
struct sass_insn sass_constant_to_register(struct sass_insn insn, enum sass_constant_way way, unsigned reg);

/* Registers of a stub, relative to its first register, whose number is a multiple of 4. */
enum sass_constant_register {
	SASS_CONSTANT_ADDRESS,
	SASS_CONSTANT_INDEX = 2,
	SASS_CONSTANT_BEYOND, /* the distance from the index to the end of the bank, later the mask of its sign */
	SASS_CONSTANT_VALUE,
	SASS_CONSTANT_REGISTERS = 8
};
#define SASS_CONSTANT_BOARD 5      /* scoreboard that says when the value is ready */

#endif
