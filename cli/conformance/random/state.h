/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the generator of random programs, and functions that emit statements.
 *
 * Registers: r6 holds the context, and r5 is free for addresses. All other registers hold numbers. Stack, by offset
 * from r10: the area [-64, 0) holds numbers. The numbers in use are written at the beginning and read at the end. Loop
 * counters are at -72 and -80, and keys at [-96, -80). At -104 a callback saves the address of its caller's numbers.
 * Iterators are at -112 and -120.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_RANDOM_STATE_H
#define GPUBPF_CLI_CONFORMANCE_RANDOM_STATE_H

#include "gen.h"

#define NUMBERS 64 /* size in bytes of the stack area with numbers */
#define COUNTER(depth) (-72 - 8 * (depth))
#define KEY (-96)
#define KEPT (-104)
#define ITERATOR(depth) (-112 - 8 * (depth))
#define CALLS 32
#define REPEATS 2 /* maximum number of calls of helpers with callbacks, because compilers inline the callbacks */
#define PREFIXES 2 /* maximum number of uses of the prefix map in a program */
#define RECORDS 3 /* maximum number of records and prints in a program, in at most two nested loops each */

/* opcodes for 4 bytes */
enum { OP_LDX = 0x61, OP_ST = 0x62, OP_STX = 0x63, OP_ATOMIC = 0xc3, OP_LDXSX = 0x81, OP_CALL = 0x85 };

/* values of an LDDW's source register: a map, an address in a map's value, or a function's address */
enum { MAP_ITSELF = 1, MAP_VALUE = 2, FUNCTION = 4 };

struct gen {
	struct gen_rng *rng;
	struct gpubpf_raw_insn *out;
	enum gen_kind kind;
	uint32_t n;
	int depth;  /* number of loops around the current position */
	int budget; /* number of statements that may still be generated */
	/* number of uses of GEN_PREFIXES that are still allowed; compilers inline the map's operations */
	int prefixes;
	int records;         /* number of records and prints that are still allowed, so that rings never become full */
	uint32_t first;      /* index of the part's first instruction */
	bool has_tail_calls; /* the part tail-calls other parts, up to the limit, and therefore outputs no records */
	bool in_callee;
	int r7_bytes; /* number of bytes at the address in r7; 0: r7 holds a number */
	uint8_t used; /* bit i: the number at stack offset -64 + 8 * i is in use */
	bool has_keys;
	int caller_numbers[2]; /* offsets in the caller's area of numbers: a sub-program writes [0] and reads [1] */
	/* indices of local calls; their targets are set when the sub-program is generated */
	uint32_t calls[CALLS], ncalls;
	uint32_t repeats[REPEATS], nrepeats; /* indices of the LDDWs that load a callback for bpf_loop() */
	uint32_t eaches[REPEATS], neaches;   /* indices of the LDDWs that load a callback for bpf_for_each_map_elem() */
	bool in_callback;                    /* the sub-program that is being generated is a callback */
	bool in_each;
};

/* emit.c */
uint32_t random_pick(struct gen *g, uint32_t n);
/* a random element of an array */
#define RANDOM_OF(g, list) (list)[random_pick(g, sizeof(list) / sizeof((list)[0]))]
void random_emit(struct gen *g, uint8_t code, int dst, int src, int off, int32_t imm);
int32_t random_interesting(struct gen *g);
int random_number_reg(struct gen *g);
void random_imm64(struct gen *g, int dst, int src, int32_t low, int32_t high);
void random_call(struct gen *g, int32_t helper);
/*
 * Call after a helper call, which clobbers registers. random_set_registers() sets r1 to r5 to numbers. The second
 * function also sets r0, which may hold the result of a look-up.
 */
void random_set_registers(struct gen *g);
void random_set_all_registers(struct gen *g);
/* Mark the `bytes` bytes at offset `off` of the stack area with numbers as used. */
void random_use(struct gen *g, int off, int bytes);
/* Patch the forward jump at index `jump` so that it jumps to the current position. */
void random_end_skip(struct gen *g, uint32_t jump);

/* arguments.c: emits the arguments of helpers. The enum states what the helper does with the memory. */
enum gen_access { GEN_READ, GEN_WRITTEN };
/*
 * Set dst to an address with `bytes` accessible bytes: in the stack, in global data, or in the memory to which r7
 * points. With GEN_READ, constant data is possible too. Afterwards dst holds no number. Emit no code that picks a
 * number's register until random_set_registers() has set dst again.
 */
void random_pick_memory(struct gen *g, int dst, int bytes, enum gen_access how);
/* Set dst to an address as in random_pick_memory(), and register dst + 1 to the number of accessible bytes. */
void random_some_bytes(struct gen *g, int dst, enum gen_access how);
/* Set dst to the address of the stack area with numbers, and mark the area's first `bytes` bytes as used. */
void random_stack_address(struct gen *g, int dst, int bytes);
/*
 * Set r1 to the map, and r2 to the address of a key. Only bits of `mask` may be set in the key's first word. The key is
 * in the stack, in global data, or in the memory to which r7 points.
 */
void random_key(struct gen *g, uint32_t map, uint32_t mask);
/* Store a random 32-bit word of a key on the stack, at KEY + off. Only bits of `mask` may be set. */
void random_key_word(struct gen *g, int off, uint32_t mask);

/* words.c */
void random_alu(struct gen *g);
void random_on_stack(struct gen *g);
void random_context(struct gen *g);
void random_global_data(struct gen *g);
/* Emit a statement that accesses some of the `bytes` bytes at offset `off` from the address in register `base`. */
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

/* texts.c */
void random_convert(struct gen *g);
void random_format(struct gen *g);
void random_rare(struct gen *g);

#endif
