/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the generator of random programs knows while it makes one, and the statements that programs are made of.
 *
 * Registers: r6 holds the context, r0, r1 to r4, r7, r8, r9 numbers, r5 is free for addresses. Stack:
 * [-64, 0) numbers, of which those that are used are written at the beginning and read at the end; -72 and -80 loop
 * counters; [-96, -80) keys; at -104 a function that is called back keeps its caller's address.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_RANDOM_STATE_H
#define GPUBPF_CLI_CONFORMANCE_RANDOM_STATE_H

#include "random_gen.h"

#define NUMBERS 64 /* bytes */
#define COUNTER(depth) (-72 - 8 * (depth))
#define KEY (-96)
#define KEPT (-104)
#define CALLS 32
#define REPEATS 2 /* calls of helpers that call back, each of which has its function in line */
#define PREFIXES 2 /* uses in a program */
#define RECORDS 3 /* put out, and prints, in a program; each in two loops at most, of five rounds */

enum { OP_LDX = 0x61, OP_ST = 0x62, OP_STX = 0x63, OP_ATOMIC = 0xc3, OP_LDXSX = 0x81, OP_CALL = 0x85 }; /* of 4 bytes */

/* What a value of global data is part of: the source register of the instruction that gives its address. */
enum { MAP_ITSELF = 1, MAP_VALUE = 2, FUNCTION = 4 };

struct gen {
	struct gen_rng *rng;
	struct gpubpf_raw_insn *out;
	enum gen_kind kind;
	uint32_t n;
	int depth;        /* of loops */
	int budget;       /* statements that may still come */
	int prefixes;     /* uses of GEN_PREFIXES that may: compilers put each in line */
	int records;      /* and prints that may: there is room for all */
	uint32_t first;   /* instruction of the part */
	bool goes_on;     /* in other parts: as often as can be, so that it puts nothing out */
	bool in_callee;
	int r7_points;    /* to so many bytes, for a while; 0: it is a number */
	uint8_t used;     /* numbers of the stack, a bit each, the lowest at -64 */
	bool has_keys;
	int lent[2];      /* of the caller's stack, what the sub-program writes and reads */
	uint32_t calls[CALLS], ncalls; /* local calls to be pointed at the sub-program */
	uint32_t repeats[REPEATS], nrepeats; /* addresses of the function that bpf_loop() calls back, */
	uint32_t eaches[REPEATS], neaches;   /* and of that for elements */
	bool in_callback; /* which are sub-programs, too */
	bool in_each;
};

/* random_emit.c */
uint32_t random_pick(struct gen *g, uint32_t n);
void random_emit(struct gen *g, uint8_t code, int dst, int src, int off, int32_t imm);
int32_t random_interesting(struct gen *g);
int random_number_reg(struct gen *g);
void random_imm64(struct gen *g, int dst, int src, int32_t low, int32_t high);
void random_call(struct gen *g, int32_t helper);
/* Helpers and local calls leave r1 to r5 unreadable; random_refill_all(): what a look-up left in r0, too. */
void random_refill(struct gen *g);
void random_refill_all(struct gen *g);
/* These bytes of the stack, from -64 on, are read or written. */
void random_use(struct gen *g, int off, int bytes);
/* Something that is jumped over ends here. */
void random_end_skip(struct gen *g, uint32_t jump);

/* random_given.c: where that lies which helpers are given */
enum gen_access { GEN_READ, GEN_WRITTEN };
/* dst = an address from which on so many bytes can be accessed: of the stack, of global data, of what r7 points to; read, of
 * data that are constant. Before another register is used as a number, all but dst must be. */
void random_given(struct gen *g, int dst, int bytes, enum gen_access how);
/* registers dst and dst + 1: such an address, and how many bytes from there */
void random_some_bytes(struct gen *g, int dst, enum gen_access how);
/* dst = an address of the stack's numbers, from which on so many are used */
void random_stack_address(struct gen *g, int dst, int bytes);
/* r1 = the map, r2 = the address of a key whose first word has bits of `mask` alone; the key is on the stack, in global
 * data, or in what r7 points to */
void random_key(struct gen *g, uint32_t map, uint32_t mask);
/* at KEY + off of the stack a word of a key */
void random_key_word(struct gen *g, int off, uint32_t mask);

/* random_words.c */
void random_alu(struct gen *g);
void random_on_stack(struct gen *g);
void random_context(struct gen *g);
void random_global_data(struct gen *g);
/* A statement on so many bytes from the address in register base, plus off, on. */
void random_touch(struct gen *g, int base, int off, int bytes);

/* random_elements.c */
void random_lookup(struct gen *g);
void random_nested(struct gen *g);
void random_go_on(struct gen *g);
void random_count(struct gen *g);
void random_update(struct gen *g);
void random_queue(struct gen *g);
void random_each(struct gen *g);

/* random_calls.c */
void random_output(struct gen *g);
void random_record(struct gen *g);
void random_repeat(struct gen *g);
void random_query(struct gen *g);
void random_helper(struct gen *g);
void random_unknown(struct gen *g);
void random_text(struct gen *g);

#endif
