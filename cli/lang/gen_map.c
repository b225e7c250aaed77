/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates map accesses. Values that programs only add to are changed by atomics without fetch, so that devices may
 * replicate such values.
 */
#include <linux/bpf.h>

#include "gen.h"
#include "gpubpf/ctx.h"

enum { LOOKUP = 1, UPDATE = 2, DELETE = 3 };

/* Store the key of the access on the stack; returns its offset. Free it by gen_pop() with key_size. */
static int put_key(struct gen *g, const struct lang_node *n)
{
	int key = gen_push(g, n->map->key_size), at = key;

	if (!n->map->nkeys) {
		gen_imm(g, R0, 0);
		gen_store(g, R10, key, R0, 4);
	}
	for (const struct lang_node *k = n->list; k; k = k->next) {
		if (k->type.base == LANG_NAME) {
			gen_text(g, k, at);
		} else {
			gen_expr(g, k);
			gen_store(g, R10, at, R0, 8);
		}
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

/* r3 = address of a value of zeros. */
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
 * r0 = address of the value of the key at offset `key` of the stack. A new key gets the value at r10 + first, or zeros
 * if `first` is 0.
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
		update(g, map->index, key, BPF_NOEXIST); /* another lane may insert the key first, which has the
							   * same effect */
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
	gen_jump_imm(g, BPF_JEQ, R0, 0, none); /* r0 is 0 here, which is the value of a missing key */
	gen_load(g, R0, R0, 0, 8);
	gen_place_label(g, none);
}

void gen_delete(struct gen *g, const struct lang_node *n)
{
	int key = put_key(g, n);

	gen_map_address(g, R1, n->map->index);
	address(g, R2, key);
	gen_call(g, DELETE);
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
	if (n->a->map->value.base == LANG_NAME) {
		gen_text(g, n->b, value);
	} else {
		gen_expr(g, n->b);
		gen_store(g, R10, value, R0, 8);
	}
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

/* Apply the operator atomically. r0 is the address of the value, and becomes the new value; r1 is the operand. */
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

/* Apply the operator by a load and a store, as bpftrace does: of two concurrent changes one may be lost. */
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
	gen_place_label(g, none); /* code that jumps here has r0 0 */
	if (!g->is_result_used)
		gen_imm(g, R0, 0);
	gen_pop(g, 8);
}
