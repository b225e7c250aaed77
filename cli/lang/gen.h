/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles the tree to eBPF. The code is simple: values are computed in r0, and pending values are on the stack, since
 * each target's compiler allocates registers. r9 is the context. Any expression may clobber r6 to r8.
 */
#ifndef GPUBPF_CLI_LANG_GEN_H
#define GPUBPF_CLI_LANG_GEN_H

#include "core/model/insn.h"
#include "lang.h"

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };

/* maps of the object that the compiler adds after those of the text */
enum lang_internal_map {
	LANG_INTERNAL_RECORDS, /* a ring with actions for the host */
	LANG_INTERNAL_ZEROS,   /* a value of zeros, to insert new keys */
	LANG_INTERNAL_ENTERED, /* entry times: struct of thread, launch and time, for `duration` */
	LANG_INTERNAL_LOST,    /* number of threads whose entry time was missing */
	LANG_INTERNAL_STACKS,
	LANG_INTERNAL_MAPS,
};

struct lang_code {
	struct lang_code *next;
	const char *section, *name;
	struct gpubpf_raw_insn *insn;
	uint32_t n;
	struct lang_reloc {
		uint32_t insn, map; /* relocation: index of the instruction, and of the map; LANG_INTERNAL_MAPS
				        * after the last map means .rodata */
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
	uint32_t room, rooms[2]; /* room for instructions; room for relocations and for lines */
	uint32_t *label;         /* [nlabels] index of the instruction at each label */
	uint32_t nlabels, labels;
	struct {
		uint32_t insn, label;
	} *jump;
	uint32_t njumps, jumps;
	uint32_t frame; /* bytes of the stack in use, below r10 */
	int duration;   /* offset from r10 of the computed duration */
	uint32_t end;   /* label at the end of the program */
	uint32_t break_to, continue_to;
	uint32_t pos;        /* position in the text of the current statement */
	bool is_result_used; /* the result of the current assignment is used */
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
/* Allocate `size` bytes of the stack, aligned to 8; returns their offset from r10. Free them in reverse order. */
int gen_push(struct gen *g, uint32_t size);
void gen_pop(struct gen *g, uint32_t size);
uint32_t gen_internal_map(const struct gen *g, enum lang_internal_map map);

/* gen_expr.c */
void gen_expr(struct gen *g, const struct lang_node *n); /* leaves the result in r0 */
void gen_branch(struct gen *g, const struct lang_node *n, bool when, uint32_t label);
void gen_step(struct gen *g, const struct lang_node *n);
void gen_number(struct gen *g, int dst, const struct lang_node *n);  /* sets dst to a literal */
void gen_var(struct gen *g, const struct lang_var *var, bool store); /* loads r0 from the variable, or with `store`
								       * stores r0 to it */
void gen_product(struct gen *g, uint32_t at);                        /* r0 = x * y * z of the triple at offset `at`
								       * of the context */
void gen_triple_value(struct gen *g, const struct lang_builtin *b);
/* r0 = r0 op r1 */
void gen_operate(struct gen *g, enum lang_token op, bool is_signed);

/* -- gen_map.c -- */
void gen_map_read(struct gen *g, const struct lang_node *n);
void gen_map_set(struct gen *g, const struct lang_node *set);
void gen_map_step(struct gen *g, const struct lang_node *map, enum lang_token op, const struct lang_node *by, bool old);
/* r0 = address of the key's value, or 0. */
void gen_lookup(struct gen *g, const struct lang_node *map);
void gen_delete(struct gen *g, const struct lang_node *map);
void gen_has_key(struct gen *g, const struct lang_node *map);
/*
 * r0 = address of the key's value. A new key gets the value at r10 + first, or zeros if `first` is 0. If the map is
 * full, jumps to `none` with r0 0.
 */
void gen_element(struct gen *g, const struct lang_node *map, int first, uint32_t none);

/* gen_text.c */
void gen_text(struct gen *g, const struct lang_node *n, int to);               /* stores the string at r10 + to */
void gen_copy_text(struct gen *g, int to, int to_off, int from, int from_off); /* copies a string's 64 bytes from
									        * register `from` + from_off to
									        * register `to` + to_off; clobbers r1 */
/* Compare the strings of n, and jump to `label` if the result is `when`. */
void gen_compare_texts(struct gen *g, const struct lang_node *n, bool when, uint32_t label);

/* gen_value.c: aggregations such as @x = count() */
void gen_aggregate(struct gen *g, const struct lang_node *set);

/* -- gen_action.c -- */
void gen_action(struct gen *g, const struct lang_node *call);
/*
 * The hidden parts of `duration`: gen_entered() records the entry time. gen_duration() computes the duration in r0 at
 * the exit, or ends the program.
 */
void gen_entered(struct gen *g);
void gen_duration(struct gen *g);

/* object.c; the functions return 0, -EINVAL or -ENOMEM */
int lang_object_make(struct lang *l, struct lang_code *code);
/* types.c: builds the .BTF of the maps and functions. maps_size: bytes of the map definitions. NULL: out of memory. */
struct btf;
struct lang_types {
	struct btf *btf;
	int func; /* type id of the first function; those of the others follow it */
	uint32_t nmaps, maps_size;
	const char *map[LANG_MAPS + LANG_INTERNAL_MAPS]; /* names of the maps, in order */
};
int lang_types_make(struct lang *l, const struct lang_code *code, struct lang_types *types);

#define LANG_MAP_DEFINITION 32         /* bytes of a map's definition in .maps: four pointers */

#endif
