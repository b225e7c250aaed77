/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the generator of random programs, and the statements of programs.
 *
 * Registers: r6 holds the context, and r5 is free for addresses. All others hold numbers. Stack: [-64, 0) has numbers.
 * The used ones are written at the beginning and read at the end. Loop counters are at -72 and -80, and keys at [-96,
 * -80). At -104 a callback saves its caller's address.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_RANDOM_STATE_H
#define GPUBPF_CLI_CONFORMANCE_RANDOM_STATE_H

#include "gen.h"

#define NUMBERS 64 /* bytes */
#define COUNTER(depth) (-72 - 8 * (depth))
#define KEY (-96)
#define KEPT (-104)
#define CALLS 32
#define REPEATS 2 /* calls of helpers with callbacks, whose functions are inlined */
#define PREFIXES 2 /* uses in a program */
#define RECORDS 3 /* records and prints in a program, each within at most two loops of five rounds */

/* opcodes for 4 bytes */
enum { OP_LDX = 0x61, OP_ST = 0x62, OP_STX = 0x63, OP_ATOMIC = 0xc3, OP_LDXSX = 0x81, OP_CALL = 0x85 };

/* The source register of an LDDW: a map, an address in a map's value, or a function. */
enum { MAP_ITSELF = 1, MAP_VALUE = 2, FUNCTION = 4 };

struct gen {
	struct gen_rng *rng;
	struct gpubpf_raw_insn *out;
	enum gen_kind kind;
	uint32_t n;
	int depth;        /* nesting of loops */
	int budget;       /* remaining statements */
	int prefixes;     /* remaining uses of GEN_PREFIXES, which compilers inline */
	int records;      /* remaining records and prints; the rings have room for all */
	uint32_t first;   /* first instruction of the part */
	bool goes_on;     /* tail-calls other parts, up to the limit, and therefore outputs nothing */
	bool in_callee;
	int r7_points;    /* number of bytes that r7 points to; 0: r7 is a number */
	uint8_t used;     /* used numbers of the stack, a bit each, the lowest at -64 */
	bool has_keys;
	int lent[2];      /* slots of the caller's stack that the sub-program writes and reads */
	uint32_t calls[CALLS], ncalls; /* local calls whose target is set later to the sub-program */
	uint32_t repeats[REPEATS], nrepeats; /* LDDWs of the callback of bpf_loop(), */
	uint32_t eaches[REPEATS], neaches;   /* and of the callback for elements */
	bool in_callback; /* callbacks are sub-programs too */
	bool in_each;
};

/* emit.c */
uint32_t random_pick(struct gen *g, uint32_t n);
void random_emit(struct gen *g, uint8_t code, int dst, int src, int off, int32_t imm);
int32_t random_interesting(struct gen *g);
int random_number_reg(struct gen *g);
void random_imm64(struct gen *g, int dst, int src, int32_t low, int32_t high);
void random_call(struct gen *g, int32_t helper);
/*
 * Set r1 to r5 again after a helper or local call clobbered them. random_set_all_registers() also sets r0, which may hold a
 * look-up's result.
 */
void random_set_registers(struct gen *g);
void random_set_all_registers(struct gen *g);
/* Note that bytes of the stack, from -64 on, are used. */
void random_use(struct gen *g, int off, int bytes);
/* Set the target of a forward jump to the current position. */
void random_end_skip(struct gen *g, uint32_t jump);

/* arguments.c: memory of helper arguments */
enum gen_access { GEN_READ, GEN_WRITTEN };
/*
 * dst = an address with `bytes` accessible bytes: in the stack, in global data, or in r7's memory; for GEN_READ also in
 * constant data. Afterwards dst holds no number. Generate no code that picks a number register until dst is set again
 * (random_set_registers()).
 */
void random_pick_memory(struct gen *g, int dst, int bytes, enum gen_access how);
/* registers dst and dst + 1: such an address, and the number of bytes there */
void random_some_bytes(struct gen *g, int dst, enum gen_access how);
/* dst = an address of the stack's numbers; the next `bytes` bytes count as used */
void random_stack_address(struct gen *g, int dst, int bytes);
/*
 * r1 = the map, r2 = the address of a key whose first word has only bits of `mask`. The key is in the stack, in global
 * data, or in r7's memory.
 */
void random_key(struct gen *g, uint32_t map, uint32_t mask);
/* store a word of a key at KEY + off */
void random_key_word(struct gen *g, int off, uint32_t mask);

/* words.c */
void random_alu(struct gen *g);
void random_on_stack(struct gen *g);
void random_context(struct gen *g);
void random_global_data(struct gen *g);
/* A statement on `bytes` bytes at off from the address in register `base`. */
void random_touch(struct gen *g, int base, int off, int bytes);

/* elements.c */
void random_lookup(struct gen *g);
void random_nested(struct gen *g);
void random_tail_call(struct gen *g);
void random_count(struct gen *g);
void random_update(struct gen *g);
void random_queue(struct gen *g);
void random_each(struct gen *g);

/* calls.c */
void random_output(struct gen *g);
void random_record(struct gen *g);
void random_repeat(struct gen *g);
void random_query(struct gen *g);
void random_helper(struct gen *g);
void random_unknown(struct gen *g);
void random_text(struct gen *g);

#endif
