/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tree to eBPF. Code is as simple as can be, a value is in r0 and what waits for it on the stack: each target's compiler
 * makes registers of that. r9 is the context; r6 to r8 are kept by nobody over an expression.
 */
#ifndef GPUBPF_CLI_LANG_GEN_H
#define GPUBPF_CLI_LANG_GEN_H

#include "core/insn.h"
#include "lang.h"

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };

/* what the object has beside the program's own maps, behind them */
enum lang_own {
	LANG_OWN_RECORDS,              /* a ring: what the host is to do */
	LANG_OWN_ZEROS,                /* a first value */
	LANG_OWN_ENTERED,              /* when threads came: struct of who, of which launch, when */
	LANG_OWN_LOST,                 /* threads whose time of entry was not there */
	LANG_OWN_STACKS,
	LANG_OWN_MAPS,
};

struct lang_code {
	struct lang_code *next;
	const char *section, *name;
	struct gpubpf_raw_insn *insn;
	uint32_t n;
	struct lang_reloc {
		uint32_t insn, map;    /* LANG_OWN_MAPS behind the last one: .rodata */
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
	uint32_t room, rooms[2];       /* of instructions; of relocations and lines */
	uint32_t *label;               /* [nlabels] where it is */
	uint32_t nlabels, labels;
	struct {
		uint32_t insn, label;
	} *jump;
	uint32_t njumps, jumps;
	uint32_t frame;                /* bytes of the stack that are taken */
	int duration;                  /* its place on the stack */
	uint32_t end;                  /* label: leave the program */
	uint32_t break_to, continue_to;
	uint32_t pos;                  /* of the statement */
	bool wanted;                   /* the value of what is set is looked at */
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
void gen_place(struct gen *g, uint32_t label);
void gen_goto(struct gen *g, uint32_t label);
void gen_jump(struct gen *g, uint32_t op, int dst, int src, uint32_t label);
void gen_jump_imm(struct gen *g, uint32_t op, int dst, int32_t imm, uint32_t label);
/* `size` bytes of the stack, aligned to 8: their offset from r10. They are given back in reverse order. */
int gen_push(struct gen *g, uint32_t size);
void gen_pop(struct gen *g, uint32_t size);
uint32_t gen_own(const struct gen *g, enum lang_own map);

/* -- gen_expr.c -- */
void gen_expr(struct gen *g, const struct lang_node *n);              /* to r0 */
void gen_branch(struct gen *g, const struct lang_node *n, bool when, uint32_t label);
void gen_step(struct gen *g, const struct lang_node *n);
void gen_number(struct gen *g, int dst, const struct lang_node *n);   /* a literal */
void gen_var(struct gen *g, const struct lang_var *var, bool store);  /* r0 and the variable */
void gen_product(struct gen *g, uint32_t at);                         /* r0 = x * y * z of a triple */
void gen_whole(struct gen *g, const struct lang_builtin *b);
/* r0 = r0 op r1 */
void gen_operate(struct gen *g, enum lang_token op, bool is_signed);

/* -- gen_map.c -- */
void gen_map_read(struct gen *g, const struct lang_node *n);
void gen_map_set(struct gen *g, const struct lang_node *set);
void gen_map_step(struct gen *g, const struct lang_node *map, enum lang_token op, const struct lang_node *by, bool old);
/* r0 = the value of the key, or 0. */
void gen_lookup(struct gen *g, const struct lang_node *map);
void gen_delete(struct gen *g, const struct lang_node *map);
void gen_has_key(struct gen *g, const struct lang_node *map);
/* r0 = the value of the key; where that is new it begins as what is at r10 + first, or as zeros (first 0). To `none`,
 * with r0 0, where there is no room. */
void gen_element(struct gen *g, const struct lang_node *map, int first, uint32_t none);

/* -- gen_text.c -- */
void gen_text(struct gen *g, const struct lang_node *n, int to);      /* the string to r10 + to */
void gen_copy_text(struct gen *g, int to, int to_off, int from, int from_off); /* r1 is lost */
/* n compares strings: to `label` if that is `when`. */
void gen_compare_texts(struct gen *g, const struct lang_node *n, bool when, uint32_t label);

/* -- gen_value.c: @x = count() and its like -- */
void gen_aggregate(struct gen *g, const struct lang_node *set);

/* -- gen_action.c -- */
void gen_action(struct gen *g, const struct lang_node *call);
/* The hidden half of `duration`: at entry; and at exit, where r0 becomes it, or the program ends. */
void gen_entered(struct gen *g);
void gen_duration(struct gen *g);

/* -- object.c: 0, -EINVAL or -ENOMEM -- */
int lang_object_make(struct lang *l, struct lang_code *code);
/* types.c: .BTF of the maps and functions. sec_size: bytes of the map definitions. NULL: no memory. */
struct btf;
struct lang_types {
	struct btf *btf;
	int func;                      /* type of the first function; then one each */
	uint32_t nmaps, maps_size;
	const char *map[LANG_MAPS + LANG_OWN_MAPS]; /* names, in order */
};
int lang_types_make(struct lang *l, const struct lang_code *code, struct lang_types *types);

#define LANG_MAP_DEFINITION 32         /* bytes that a map takes in .maps: four pointers */

#endif
