/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the generator of random programs, and functions that emit statements.
 *
 * Registers: r6 holds the context, and r5 is free for addresses. All others hold numbers. Stack: the area [-64, 0) from
 * r10 holds numbers; those in use are written at the beginning and read at the end. Loop counters are at -72 and -80,
 * and keys at [-96, -80). At -104 a callback saves the address of its caller's numbers.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_RANDOM_STATE_H
#define GPUBPF_CLI_CONFORMANCE_RANDOM_STATE_H

#include "gen.h"

#define NUMBERS 64 /* bytes of the stack area of numbers */
#define COUNTER(depth) (-72 - 8 * (depth))
#define KEY (-96)
#define KEPT (-104)
#define CALLS 32
#define REPEATS 2 /* maximum calls of helpers with callbacks, since compilers inline these */
#define PREFIXES 2 /* maximum uses of the prefix map in a program */
#define RECORDS 3 /* maximum records and prints in a program, each within at most two loops of five iterations */

/* opcodes for 4 bytes */
enum { OP_LDX = 0x61, OP_ST = 0x62, OP_STX = 0x63, OP_ATOMIC = 0xc3, OP_LDXSX = 0x81, OP_CALL = 0x85 };

/* values of an LDDW's source register: a map, an address in a map's value, or a function */
enum { MAP_ITSELF = 1, MAP_VALUE = 2, FUNCTION = 4 };

struct gen {
	struct gen_rng *rng;
	struct gpubpf_raw_insn *out;
	enum gen_kind kind;
	uint32_t n;
	int depth;           /* nesting of loops at the current position */
	int budget;          /* number of statements that may still be generated */
	int prefixes;        /* number of further uses of GEN_PREFIXES, whose operations compilers inline */
	int records;         /* number of further records and prints; the rings have room for all */
	uint32_t first;      /* index of the part's first instruction */
	bool has_tail_calls; /* the part tail-calls others, up to the limit, and therefore outputs nothing */
	bool in_callee;
	int r7_bytes; /* number of bytes that r7 points to; 0: r7 holds a number */
	uint8_t used; /* bit i: the number at -64 + 8 i is in use */
	bool has_keys;
	int caller_numbers[2]; /* offsets of the caller's numbers that a sub-program writes ([0]) and reads ([1]) */
	uint32_t calls[CALLS], ncalls;       /* indices of local calls, whose target is set when the sub-program is
				        * generated */
	uint32_t repeats[REPEATS], nrepeats; /* indices of LDDWs that load the callback of bpf_loop(), */
	uint32_t eaches[REPEATS], neaches;   /* and of those that load the callback of for_each_map_elem() */
	bool in_callback;                    /* a callback is being generated, which is a sub-program too */
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
 * random_set_registers() sets r1 to r5 again after a call clobbered them. random_set_all_registers() also sets r0,
 * which may hold a look-up's result.
 */
void random_set_registers(struct gen *g);
void random_set_all_registers(struct gen *g);
/* Mark `bytes` bytes at off from the area's start, -64, as used. */
void random_use(struct gen *g, int off, int bytes);
/* Set the target of the forward jump at index `jump` to the current position. */
void random_end_skip(struct gen *g, uint32_t jump);

/* arguments.c: emits the arguments of helpers; whether the helper reads the memory or writes it */
enum gen_access { GEN_READ, GEN_WRITTEN };
/*
 * Sets dst to an address with `bytes` accessible bytes: in the stack, in global data, or in the memory to which r7
 * points; for GEN_READ also in constant data. Afterwards dst holds no number: until it is set again
 * (random_set_registers()), emit no code that picks a register with a number.
 */
void random_pick_memory(struct gen *g, int dst, int bytes, enum gen_access how);
/* Sets register dst to such an address, and register dst + 1 to the number of bytes there. */
void random_some_bytes(struct gen *g, int dst, enum gen_access how);
/* Sets dst to the address of the number area of the stack and marks `bytes` bytes from there as used. */
void random_stack_address(struct gen *g, int dst, int bytes);
/*
 * Sets r1 to the map, and r2 to the address of a key whose first word has only bits of `mask`. The key is in the stack,
 * in global data, or in the memory to which r7 points.
 */
void random_key(struct gen *g, uint32_t map, uint32_t mask);
/* Stores a word of a key, with only bits of `mask`, at KEY + off on the stack. */
void random_key_word(struct gen *g, int off, uint32_t mask);

/* words.c */
void random_alu(struct gen *g);
void random_on_stack(struct gen *g);
void random_context(struct gen *g);
void random_global_data(struct gen *g);
/* Emits a statement on the `bytes` bytes at offset `off` from the address in register `base`. */
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
