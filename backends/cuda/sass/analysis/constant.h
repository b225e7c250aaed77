/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes reads of the application's __constant__ variables, which are in c[0x3] of its module. Also declares what the
 * writer of the stubs that replace them (backends/cuda/sass/rewrite/constant_stub.h) shares with the checker.
 */
#ifndef GPUBPF_SASS_CONSTANT_H
#define GPUBPF_SASS_CONSTANT_H

#include "code.h"
#include "backends/cuda/sass/isa/form.h"

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
	uint32_t index;      /* register, or uniform register, that is added to the offset; SASS_RZ: none */
	bool uniform_index;
};

#define SASS_CONSTANT_NEGATIVE 0x8000 /* offsets from here on may stand for negative 16-bit numbers if there is an
                                       * index */

/* Decodes an instruction that reads c[0x3]. False: the form of the read is unknown. */
bool sass_decode_constant_read(struct sass_insn insn, struct sass_constant *constant);
/* Returns the arithmetic instruction with register `reg` instead of the constant operand. If it is slow, it sets a
 * scoreboard. */
struct sass_insn sass_constant_to_register(struct sass_insn insn, enum sass_constant_way way, unsigned reg);

/* Registers of a stub, relative to a base that is a multiple of 4: the address; the index; its distance to the end
 * of the bank, later the mask of that distance's sign; the value. */
enum sass_constant_register {
	SASS_CONSTANT_ADDRESS,
	SASS_CONSTANT_INDEX = 2,
	SASS_CONSTANT_BEYOND,
	SASS_CONSTANT_VALUE,
	SASS_CONSTANT_REGISTERS = 8
};
#define SASS_CONSTANT_BOARD 5      /* scoreboard that says when the value is ready */

#endif
