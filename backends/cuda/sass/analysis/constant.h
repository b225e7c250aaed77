/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads of the application's __constant__ variables, which are in c[0x3] of its module: their decoding, and what the
 * stubs that replace them (backends/cuda/sass/rewrite/constant_stub.h) share with the checker.
 */
#ifndef GPUBPF_SASS_CONSTANT_H
#define GPUBPF_SASS_CONSTANT_H

#include "code.h"
#include "backends/cuda/sass/isa/form.h"

#define SASS_CONSTANTS ".nv.constant3" /* the section, */
#define SASS_CONSTANTS_BANK 3
#define SASS_CONSTANTS_MAX_BYTES 0x10000 /* and its largest size */

enum sass_constant_way {
	SASS_CONSTANT_LOADED,      /* LDC: loads into registers */
	SASS_CONSTANT_UNIFORM,     /* ULDC, LDCU: load into uniform registers */
	SASS_CONSTANT_B,           /* arithmetic: the constant is operand B, in the field of B */
	SASS_CONSTANT_C,           /* arithmetic: the constant is operand C, in the field of B, and B is in the field of
	                            * C */
};

struct sass_constant {
	enum sass_constant_way way;
	uint32_t off, bytes;       /* offset in the bank, and size */
	uint32_t index;            /* a register, or a uniform one, that is added; else SASS_RZ */
	bool uniform_index;
};

#define SASS_CONSTANT_NEGATIVE 0x8000 /* with an index, offsets from here on may be negative */

/* Decodes an instruction that reads c[0x3]. False: the form of the read is unknown. */
bool sass_decode_constant_read(struct sass_insn insn, struct sass_constant *constant);
/* The arithmetic instruction with a register in the place of the constant. A slow one has a scoreboard to wait for. */
struct sass_insn sass_constant_to_register(struct sass_insn insn, enum sass_constant_way way, unsigned reg);

/* Registers of stubs, from a multiple of 4 on: the address, an index, the distance of the index from the end, the
 * value. */
enum sass_constant_register { SASS_CONSTANT_ADDRESS, SASS_CONSTANT_INDEX = 2, SASS_CONSTANT_BEYOND, SASS_CONSTANT_VALUE,
			      SASS_CONSTANT_REGISTERS = 8 };
#define SASS_CONSTANT_BOARD 5      /* scoreboard that says when the value is ready */

#endif
