/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles the tree to eBPF. The code is simple, because each target's compiler allocates registers: values are
 * computed in r0, and pending values are on the stack. r9 holds the context. The code of any expression may clobber r6
 * to r8.
 */
#ifndef GPUBPF_CLI_LANG_GEN_H
#define GPUBPF_CLI_LANG_GEN_H

#include "core/model/insn.h"
#include "cli/lang/lang.h"

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };

/* maps that the compiler adds to the object, after the maps of the program text */
enum lang_internal_map {
	LANG_INTERNAL_RECORDS, /* a ring buffer with records of actions for the host */
	LANG_INTERNAL_ZEROS,   /* one value of zeros, with which new keys are inserted */
	LANG_INTERNAL_ENTERED, /* for `duration`: the entries of threads (thread, launch and time) */
	LANG_INTERNAL_LOST,    /* for `duration`: number of threads without a recorded entry */
	LANG_INTERNAL_STACKS,
	LANG_INTERNAL_LIMITS, /* number of loops that reached their maximum number of iterations */
	LANG_INTERNAL_MAPS,
};

struct lang_code {
	struct lang_code *next;
	const char *section, *name;
	bool is_loop; /* a function of a loop, which helpers call; else a program */
	struct gpubpf_raw_insn *insn;
	uint32_t n;
	struct lang_reloc {
		/*
		 * A relocation: the index of the instruction, and the index of the map. Index LANG_INTERNAL_MAPS after
		 * the last map means .rodata. With `function`, the address of that function of a loop.
		 */
		uint32_t insn, map;
		const struct lang_code *function;
	} *reloc;
	uint32_t nrelocs;
	struct lang_line {
		uint32_t insn, pos;
	} *line;
	uint32_t nlines;
};

struct gen {
	struct lang *l;
	struct lang_block *block;
	const struct lang_probe *probe;
	struct lang_code *code;
	/* capacities of arrays: `room` of the instructions, rooms[0] of the relocations, rooms[1] of the lines */
	uint32_t room, rooms[2];
	uint32_t *label; /* [nlabels] index of the instruction to which a label belongs */
	uint32_t nlabels, labels;
	struct {
		uint32_t insn, label;
	} *jump;
	uint32_t njumps, jumps;
	uint32_t frame; /* number of stack bytes in use, counted down from r10 */
	int duration;   /* offset from r10 of the value of `duration` */
	uint32_t end;   /* label at the end of the program */
	uint32_t break_to, continue_to;
	/* In the function of a loop: its nesting level, the code that calls it, and the label that ends its loop. */
	struct gen *outer;
	uint32_t level, break_all;
	int frame_slot;           /* offset from r10 of the address of the program's frame */
	int context_slot, leave;  /* offsets in the program's frame, like the offsets of variables */
	bool leaves;              /* a return in the function leaves more than the function */
	struct lang_code **first; /* list of functions of loops */
	struct gen_function {
		uint32_t level, end; /* level of the code of the call, and the label after the body */
	} *function;                 /* the call of a function of the text that is being generated, or NULL */
	uint32_t pos;                /* position of the current statement in the program text */
	bool is_result_used;         /* the code uses the result of the current assignment */
};

/* -- emit.c: instructions -- */
void gen_insn(struct gen *g, uint8_t code, int dst, int src, int16_t off, int32_t imm);
void gen_mov(struct gen *g, int dst, int src);
void gen_imm(struct gen *g, int dst, uint64_t value);
void gen_alu(struct gen *g, uint32_t op, int dst, int src);
void gen_alu_imm(struct gen *g, uint32_t op, int dst, int32_t imm);
void gen_load(struct gen *g, int dst, int base, int off, uint32_t size);
void gen_store(struct gen *g, int base, int off, int src, uint32_t size);
void gen_atomic(struct gen *g, uint32_t op, int base, int off, int src);
void gen_map_address(struct gen *g, int dst, uint32_t map);
void gen_name_address(struct gen *g, int dst, uint32_t at);
void gen_call(struct gen *g, uint32_t helper);
uint32_t gen_label(struct gen *g);
void gen_place_label(struct gen *g, uint32_t label);
void gen_goto(struct gen *g, uint32_t label);
void gen_jump(struct gen *g, uint32_t op, int dst, int src, uint32_t label);
void gen_jump_imm(struct gen *g, uint32_t op, int dst, int32_t imm, uint32_t label);
/*
 * Allocate `size` bytes of the stack, rounded up to 8. Returns their offset from r10. Free allocations in reverse
 * order.
 */
int gen_push(struct gen *g, uint32_t size);
void gen_pop(struct gen *g, uint32_t size);
/* dst = address of the function of a loop, for a helper */
void gen_function_address(struct gen *g, int dst, const struct lang_code *function);
uint32_t gen_internal_map(const struct gen *g, enum lang_internal_map map);
void gen_count(struct gen *g, enum lang_internal_map map); /* adds 1 to the value of an internal map; clobbers r0 to r5 */

/* -- gen.c -- */
bool gen_open(struct gen *g, const char *section, const char *name); /* begins the code of a program or function */
void gen_close(struct gen *g);                                       /* resolves labels and removes unreachable code */
void gen_statement(struct gen *g, const struct lang_node *n);
void gen_statement_value(struct gen *g, const struct lang_node *n); /* computes a value and discards it */

/* -- loop.c -- */
/* Return the register with the address of the program's frame, in which variables are. It may be r5. */
int gen_frame(struct gen *g);
void gen_for(struct gen *g, const struct lang_node *n);
void gen_each(struct gen *g, const struct lang_node *n);
void gen_while(struct gen *g, const struct lang_node *n);
void gen_return(struct gen *g, const struct lang_node *n);
void gen_leave_probe(struct gen *g);

/* expr.c */
void gen_expr(struct gen *g, const struct lang_node *n); /* computes the expression in r0 */
void gen_branch(struct gen *g, const struct lang_node *n, bool when, uint32_t label);
void gen_step(struct gen *g, const struct lang_node *n);
void gen_body(struct gen *g, const struct lang_node *call);         /* the body of a function of the text */
void gen_number(struct gen *g, int dst, const struct lang_node *n); /* sets dst to the literal */
/* loads the variable into r0, or with `store` stores r0 in the variable */
void gen_var(struct gen *g, const struct lang_var *var, bool store);
void gen_hide(struct gen *g); /* in the function of a loop, hides the value in r0 from the verifier */
void gen_set(struct gen *g, const struct lang_var *var, const struct lang_node *value);
/* r0 = x * y * z of the field at offset `at` of the context */
void gen_product(struct gen *g, uint32_t at);
void gen_triple_value(struct gen *g, const struct lang_builtin *b);
/* r0 = r0 op r1 */
void gen_operate(struct gen *g, enum lang_token op, bool is_signed);

/* Truncate r0 to `bits` bits. 0 means that all 64 bits are kept. */
void gen_narrow(struct gen *g, uint32_t bits, bool is_signed);
/* Evaluate a into r0 and b into r1. */
void gen_operands(struct gen *g, const struct lang_node *a, const struct lang_node *b);

/* -- map.c -- */
void gen_map_read(struct gen *g, const struct lang_node *n);
void gen_map_set(struct gen *g, const struct lang_node *set);
void gen_map_step(struct gen *g, const struct lang_node *map, enum lang_token op, const struct lang_node *by, bool old);
/* r0 = address of the key's value, or 0 if the map lacks the key. */
void gen_lookup(struct gen *g, const struct lang_node *map);
/* r0 = the number that the value at address r0 stands for: itself, or the mean of avg() */
void gen_map_value(struct gen *g, const struct lang_map *map);
void gen_delete(struct gen *g, const struct lang_node *map);
void gen_has_key(struct gen *g, const struct lang_node *map);
void gen_find(struct gen *g, const struct lang_node *call);
/*
 * r0 = address of the key's value. If the map lacks the key, insert it. The inserted value is the one at r10 + first,
 * or zeros if first == 0. If the map is full, jump to `none` with r0 = 0.
 */
void gen_element(struct gen *g, const struct lang_node *map, int first, uint32_t none);

/* -- memory.c: values that are bytes in memory: strings, tuples and buffers -- */
void gen_memory(struct gen *g, const struct lang_node *n, int to); /* stores the value at r10 + to */
void gen_put(struct gen *g, const struct lang_node *n, int to);    /* stores a value of any type at r10 + to */
/* copies bytes, a multiple of 8, to address (register `to`) + to_off; clobbers r1 */
void gen_copy(struct gen *g, int to, int to_off, int from, int from_off, uint32_t size);
/* Returns true if the address is one of the Linux kernel's memory. */
bool gen_reads_kernel(const struct gen *g, const struct lang_node *address);
void gen_part(struct gen *g, const struct lang_node *n); /* r0 = the element of a tuple, a number */
/* Compute the expression, and return the offset from r10 of its value; *size: bytes to free with gen_pop() */
int gen_temporary(struct gen *g, const struct lang_node *n, uint32_t *size);

/* r0 = *a, a[b], a.member or a->member; 0 where nothing is readable */
void gen_read(struct gen *g, const struct lang_node *n);
void gen_read_bytes(struct gen *g, const struct lang_node *address, uint32_t bytes); /* r0 = the bytes there, the first lowest */
void gen_place(struct gen *g, const struct lang_node *n); /* r0 = the address of a READ or MEMBER */

/* -- text.c -- */
void gen_literal(struct gen *g, const char *text, int to);
void gen_text_call(struct gen *g, const struct lang_node *n, int to); /* stores the result of str() or buf() */
/* Compare the two values in memory of n, and jump to `label` if the result equals `when`. */
void gen_compare_memory(struct gen *g, const struct lang_node *n, bool when, uint32_t label);

void gen_strings(struct gen *g, const struct lang_node *n); /* r0 = result of strncmp(), strstr(), ... */
uint64_t gen_text_word(const char *text, size_t i);         /* returns the eight bytes at i of the padded string */

/* aggregate.c: updates the value of a map for an aggregation such as @x = count() */
void gen_aggregate(struct gen *g, const struct lang_node *set);

/* -- action.c -- */
void gen_action(struct gen *g, const struct lang_node *call);
/*
 * Code for `duration`. gen_entered() records the entry time. gen_duration() runs at the exit and computes the duration
 * in r0. If no entry time was recorded, it ends the program.
 */
void gen_entered(struct gen *g);
void gen_duration(struct gen *g);

/* object.c: writes the object. Returns 0, -EINVAL or -ENOMEM. */
int lang_object_make(struct lang *l, struct lang_code *code);
/*
 * types.c: builds the object's BTF for maps and functions. maps_size becomes the size in bytes of the map definitions.
 * btf is NULL if memory is exhausted.
 */
struct btf;
struct lang_types {
	struct btf *btf;
	int func; /* BTF type id of the first function; the ids of further functions follow */
	uint32_t nmaps, maps_size;
	const char *map[LANG_MAPS + LANG_INTERNAL_MAPS]; /* names of the maps, in order */
};
int lang_types_make(struct lang *l, const struct lang_code *code, struct lang_types *types);

#define LANG_MAP_DEFINITION 32         /* size in bytes of a map's definition in .maps, which consists of four pointers */

#endif
