/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates accesses to maps. If a program only adds to a value, the code uses atomics without fetch, so that devices
 * may replicate the value.
 */
#include <linux/bpf.h>

#include "gen.h"
#include "gpubpf/ctx.h"

enum { LOOKUP = 1, UPDATE = 2, DELETE = 3 };

/* Store the key of the access on the stack and return its offset. Free the key with gen_pop(key_size). */
static int put_key(struct gen *g, const struct lang_node *n)
{
	int key = gen_push(g, n->map->key_size), at = key;

	if (!n->map->nkeys) {
		gen_imm(g, R0, 0);
		gen_store(g, R10, key, R0, 4);
	}
	for (const struct lang_node *k = n->list; k; k = k->next) {
		gen_put(g, k, at);
		at += lang_size(k->type);
	}
	return key;
}

static void address(struct gen *g, int dst, int off)
{
	gen_mov(g, dst, R10);
	gen_alu_imm(g, BPF_ADD, dst, off);
}

static void lookup(struct gen *g, uint32_t map, int key)
{
	gen_map_address(g, R1, map);
	address(g, R2, key);
	gen_call(g, LOOKUP);
}

static void update(struct gen *g, uint32_t map, int key, uint32_t flags)
{
	gen_map_address(g, R1, map);
	address(g, R2, key);
	gen_imm(g, R4, flags);
	gen_call(g, UPDATE);
}

/* r3 = address of a value of zeros. Jumps to `none` if the look-up fails. */
static void load_zeros(struct gen *g, uint32_t none)
{
	int key = gen_push(g, 8);

	gen_imm(g, R0, 0);
	gen_store(g, R10, key, R0, 4);
	lookup(g, gen_internal_map(g, LANG_INTERNAL_ZEROS), key);
	gen_jump_imm(g, BPF_JEQ, R0, 0, none);
	gen_mov(g, R3, R0);
	gen_pop(g, 8);
}

/*
 * r0 = address of the value of the key at stack offset `key`. If the map lacks the key, insert it. The inserted value
 * is the one at r10 + first, or zeros if first == 0. If the insertion fails, jump to `none` with r0 = 0.
 */
static void find_or_insert(struct gen *g, const struct lang_map *map, int key, int first, uint32_t none)
{
	uint32_t found = gen_label(g);

	lookup(g, map->index, key);
	gen_jump_imm(g, BPF_JNE, R0, 0, found);
	if (lang_map_is_array(map)) {
		gen_goto(g, none);
	} else {
		if (first)
			address(g, R3, first);
		else
			load_zeros(g, none);
		/* if another lane inserts the key first, this fails, and the look-up below finds that lane's entry */
		update(g, map->index, key, BPF_NOEXIST);
		lookup(g, map->index, key);
		gen_jump_imm(g, BPF_JEQ, R0, 0, none);
	}
	gen_place_label(g, found);
}

void gen_element(struct gen *g, const struct lang_node *n, int first, uint32_t none)
{
	int key = put_key(g, n);

	find_or_insert(g, n->map, key, first, none);
	gen_pop(g, n->map->key_size);
}

void gen_lookup(struct gen *g, const struct lang_node *n)
{
	int key = put_key(g, n);

	lookup(g, n->map->index, key);
	gen_pop(g, n->map->key_size);
}

void gen_map_read(struct gen *g, const struct lang_node *n)
{
	uint32_t none = gen_label(g);

	gen_lookup(g, n);
	gen_jump_imm(g, BPF_JEQ, R0, 0, none); /* a missing key reads as 0, which r0 already is */
	gen_map_value(g, n->map);
	gen_place_label(g, none);
}

void gen_map_value(struct gen *g, const struct lang_map *map)
{
	bool is_signed = map->value.is_signed;

	if (map->holds && map->holds->id == LANG_F_AVG) {
		gen_load(g, R1, R0, 0, 8);
		gen_load(g, R0, R0, 8, 8);
		gen_operate(g, LANG_T_DIV, is_signed);
	} else {
		gen_load(g, R0, R0, 0, 8);
	}
}

void gen_find(struct gen *g, const struct lang_node *n)
{
	const struct lang_var *var = n->list->next->var;
	uint32_t none = gen_label(g);

	gen_lookup(g, n->list);
	gen_jump_imm(g, BPF_JEQ, R0, 0, none);
	if (lang_is_in_memory(var->type)) {
		gen_copy(g, gen_frame(g), var->at, R0, 0, lang_size(var->type));
	} else {
		gen_map_value(g, n->list->map);
		gen_var(g, var, true);
	}
	gen_imm(g, R0, 1);
	gen_place_label(g, none);
}

/* Set the value of an array's only element to zeros. */
static void clear_element(struct gen *g, const struct lang_map *map, int key)
{
	uint32_t none = gen_label(g);

	lookup(g, map->index, key);
	gen_jump_imm(g, BPF_JEQ, R0, 0, none);
	gen_imm(g, R1, 0);
	for (uint32_t i = 0; i < map->value_size; i += 8)
		gen_store(g, R0, (int)i, R1, 8);
	gen_imm(g, R0, 0);
	gen_place_label(g, none);
}

/* r0 = 1 if a helper returned 0, and so removed the key */
static void emit_deleted(struct gen *g)
{
	uint32_t no = gen_label(g), end = gen_label(g);

	gen_jump_imm(g, BPF_JNE, R0, 0, no);
	gen_imm(g, R0, 1);
	gen_goto(g, end);
	gen_place_label(g, no);
	gen_imm(g, R0, 0);
	gen_place_label(g, end);
}

void gen_delete(struct gen *g, const struct lang_node *n)
{
	bool is_result_used = g->is_result_used;
	int key;

	g->is_result_used = true;
	key = put_key(g, n);
	if (lang_map_is_array(n->map)) {
		clear_element(g, n->map, key);
	} else {
		gen_map_address(g, R1, n->map->index);
		address(g, R2, key);
		gen_call(g, DELETE);
	}
	if (is_result_used)
		emit_deleted(g);
	gen_pop(g, n->map->key_size);
}

void gen_has_key(struct gen *g, const struct lang_node *n)
{
	uint32_t none = gen_label(g);

	gen_lookup(g, n);
	gen_jump_imm(g, BPF_JEQ, R0, 0, none);
	gen_imm(g, R0, 1);
	gen_place_label(g, none);
}

static void assign(struct gen *g, const struct lang_node *n)
{
	uint32_t none = gen_label(g);
	uint32_t size = lang_size(n->a->map->value);
	int value = gen_push(g, size), key;

	g->is_result_used = true;
	gen_put(g, n->b, value);
	key = put_key(g, n->a);
	if (lang_map_is_array(n->a->map)) {
		lookup(g, n->a->map->index, key);
		gen_jump_imm(g, BPF_JEQ, R0, 0, none);
		gen_load(g, R1, R10, value, 8);
		gen_store(g, R0, 0, R1, 8);
	} else {
		address(g, R3, value);
		update(g, n->a->map->index, key, BPF_ANY);
	}
	gen_pop(g, n->a->map->key_size);
	gen_place_label(g, none);
	gen_load(g, R0, R10, value, 8);
	gen_pop(g, size);
}

void gen_map_set(struct gen *g, const struct lang_node *n)
{
	if (n->op == LANG_T_NONE)
		assign(g, n);
	else
		gen_map_step(g, n->a, n->op, n->b, false);
}

/* -- @x op= b, @x++ -- */

static uint32_t atomic_of(enum lang_token op)
{
	switch (op) {
	case LANG_T_ADD:
	case LANG_T_SUB:
		return BPF_ADD;
	case LANG_T_AND:
		return BPF_AND;
	case LANG_T_OR:
		return BPF_OR;
	case LANG_T_XOR:
		return BPF_XOR;
	default:
		return UINT32_MAX;
	}
}

/*
 * Apply the operator atomically to the value at address r0, with operand r1. If the result is used, r0 becomes the old
 * value if `old` is set, otherwise the new value.
 */
static void update_atomically(struct gen *g, enum lang_token op, uint32_t atomic, bool old)
{
	gen_mov(g, R8, R1);
	if (g->is_result_used)
		gen_atomic(g, atomic | BPF_FETCH, R0, 0, R1);
	else
		gen_atomic(g, atomic, R0, 0, R1);
	if (!g->is_result_used)
		return;
	gen_mov(g, R0, R1);
	gen_mov(g, R1, R8);
	if (!old)
		gen_operate(g, op == LANG_T_SUB ? LANG_T_ADD : op, false);
}

/*
 * Apply the operator by a load and a store, as bpftrace does. If two threads change the value at the same time, one
 * change may be lost.
 */
static void update_unprotected(struct gen *g, enum lang_token op, bool is_signed)
{
	gen_mov(g, R8, R0);
	gen_load(g, R0, R8, 0, 8);
	gen_operate(g, op, is_signed);
	gen_store(g, R8, 0, R0, 8);
}

void gen_map_step(struct gen *g, const struct lang_node *n, enum lang_token op, const struct lang_node *by, bool old)
{
	uint32_t none = gen_label(g), atomic = atomic_of(op);
	bool is_result_used = g->is_result_used;
	int value = gen_push(g, 8);

	g->is_result_used = true;
	gen_expr(g, by);
	if (op == LANG_T_SUB)
		gen_insn(g, BPF_ALU64 | BPF_NEG, R0, 0, 0, 0);
	gen_store(g, R10, value, R0, 8);
	gen_element(g, n, 0, none);
	g->is_result_used = is_result_used;
	gen_load(g, R1, R10, value, 8);
	if (atomic == UINT32_MAX)
		update_unprotected(g, op, n->map->value.is_signed);
	else
		update_atomically(g, op, atomic, old);
	gen_place_label(g, none); /* jumps to this label have r0 = 0 */
	if (!g->is_result_used)
		gen_imm(g, R0, 0);
	gen_pop(g, 8);
}
