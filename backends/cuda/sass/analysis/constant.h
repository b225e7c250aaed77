/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads of the application's __constant__ variables, which are in c[0x3] of its module. The twin is another module with
 * another bank, so each such instruction becomes a branch to a stub. The stub loads the value from the original's
 * memory, at an address that the agent fills in. So it sees all that the application, or one of its kernels, wrote
 * before the launch, in graphs too. A constant operand of arithmetic becomes a register, and the stub executes the
 * instruction.
 *
 * Does:     replaces instructions that read c[0x3] by branches and appends their stubs.
 * Before:   `out` holds the kernel's code and all probes.
 * After:    out->addresses lists the immediates that the agent fills in.
 * Requires: registers above the kernel's. Stubs use no others and leave nothing in flight.
 */
#ifndef GPUBPF_SASS_CONSTANT_H
#define GPUBPF_SASS_CONSTANT_H

#include "code.h"
#include "backends/cuda/sass/isa/form.h"

struct sass_patched_code;

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

/* half of an address in the bank's memory, an immediate of instruction `at` */
struct sass_constant_address {
	uint32_t at, off;
	bool high;
};

/* Registers of stubs, from a multiple of 4 on: the address, an index, the distance of the index from the end, the
 * value. */
enum sass_constant_register { SASS_CONSTANT_ADDRESS, SASS_CONSTANT_INDEX = 2, SASS_CONSTANT_BEYOND, SASS_CONSTANT_VALUE,
			      SASS_CONSTANT_REGISTERS = 8 };
#define SASS_CONSTANT_BOARD 5      /* scoreboard that says when the value is ready */

/* Upper bound of the instructions of all stubs. */
size_t sass_constants_max_insns(const struct sass_code *code);
/* Appends the stubs to `out`. Each waits for the scoreboards in `left` first. -ENOMEM. */
int sass_emit_constant_stubs(const struct sass_code *code, unsigned left, struct sass_patched_code *out);

#endif
