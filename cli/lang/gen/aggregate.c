/* SPDX-License-Identifier: Apache-2.0 */
/* Generates updates of aggregations, from count() to lhist(). Each lane adds separately, with atomics. */
#include <linux/bpf.h>

#include "gen.h"

/* maximum number of compare-and-exchange attempts; if all fail, the value's second word counts the lost update */
#define MAX_TRIES 64

/* Add src atomically to the word at r0 + off. */
static void add(struct gen *g, int off, int src)
{
	gen_atomic(g, BPF_ADD, R0, off, src);
}

static void count(struct gen *g, const struct lang_map *map, int value)
{
	gen_imm(g, R1, 1);
	add(g, 0, R1);
}

static void sum(struct gen *g, const struct lang_map *map, int value)
{
	gen_load(g, R1, R10, value, 8);
	add(g, 0, R1);
}

static void average(struct gen *g, const struct lang_map *map, int value)
{
	count(g, map, value);
	gen_load(g, R1, R10, value, 8);
	add(g, 8, R1);
}

/*
 * Store a new minimum or maximum with compare-and-exchange, unless the stored value is at least as extreme. Other lanes
 * only make the stored value more extreme.
 */
static void emit_extreme(struct gen *g, uint32_t enough, int value)
{
	uint32_t again = gen_label(g), end = gen_label(g);

	gen_mov(g, R8, R0);
	gen_imm(g, R7, MAX_TRIES);
	gen_load(g, R1, R10, value, 8);
	gen_load(g, R0, R8, 0, 8);
	gen_place_label(g, again);
	gen_jump(g, enough, R0, R1, end);
	gen_mov(g, R2, R0);
	gen_atomic(g, BPF_CMPXCHG, R8, 0, R1);
	gen_jump(g, BPF_JEQ, R0, R2, end);
	gen_alu_imm(g, BPF_SUB, R7, 1);
	gen_jump_imm(g, BPF_JNE, R7, 0, again);
	gen_imm(g, R1, 1);
	gen_atomic(g, BPF_ADD, R8, 8, R1);
	gen_place_label(g, end);
}

static void emit_min(struct gen *g, const struct lang_map *map, int value)
{
	emit_extreme(g, map->value.is_signed ? BPF_JSLE : BPF_JLE, value);
}

static void emit_max(struct gen *g, const struct lang_map *map, int value)
{
	emit_extreme(g, map->value.is_signed ? BPF_JSGE : BPF_JGE, value);
}

/*
 * Atomically increment the word at r0 + 8 * r2; r2 is limited to `last`. The bound is in a register, because the
 * verifier would warn that the immediates 32 and 63 assume a warp size.
 */
static void count_slot(struct gen *g, uint32_t last)
{
	uint32_t inside = gen_label(g);

	gen_imm(g, R3, last);
	gen_jump(g, BPF_JLE, R2, R3, inside);
	gen_mov(g, R2, R3);
	gen_place_label(g, inside);
	gen_alu_imm(g, BPF_LSH, R2, 3);
	gen_alu(g, BPF_ADD, R0, R2);
	gen_imm(g, R1, 1);
	add(g, 0, R1);
}

/*
 * Compute the slot of the value, and count the value there. gpubpf_log2() and struct gpubpf_quantiles in
 * <gpubpf/probe.h> define the slots. The value is shifted right until it is less than 2 << bits. Each bit of the shift
 * adds 1 << bits slots.
 */
static void histogram(struct gen *g, const struct lang_map *map, int value)
{
	uint32_t bits = map->fine - 1;

	gen_load(g, R1, R10, value, 8);
	gen_imm(g, R2, 0);
	for (int shift = 32; shift; shift /= 2) {
		uint32_t less = gen_label(g);

		gen_imm(g, R3, 1ull << (shift + bits));
		gen_jump(g, BPF_JLT, R1, R3, less);
		gen_alu_imm(g, BPF_RSH, R1, shift);
		gen_alu_imm(g, BPF_ADD, R2, shift);
		gen_place_label(g, less);
	}
	gen_alu_imm(g, BPF_LSH, R2, bits);
	gen_alu(g, BPF_ADD, R2, R1);
	count_slot(g, map->value_size / 8 - 1);
}

/*
 * Count the value in a linear histogram. Slot 0 counts values below min; the last slot counts max and all larger
 * values.
 */
static void linear(struct gen *g, const struct lang_map *map, int value)
{
	uint32_t below = gen_label(g), last = map->value_size / 8 - 1;

	gen_load(g, R1, R10, value, 8);
	gen_imm(g, R2, 0);
	gen_imm(g, R3, map->min);
	gen_jump(g, map->value.is_signed ? BPF_JSLT : BPF_JLT, R1, R3, below);
	gen_mov(g, R2, R1);
	gen_alu(g, BPF_SUB, R2, R3);
	gen_imm(g, R3, map->step);
	gen_alu(g, BPF_DIV, R2, R3);
	gen_alu_imm(g, BPF_ADD, R2, 1);
	gen_place_label(g, below);
	count_slot(g, last);
}

void gen_aggregate(struct gen *g, const struct lang_node *set)
{
	static void (*const makes[LANG_FUNCTIONS])(struct gen *g, const struct lang_map *map, int value) = {
		[LANG_F_COUNT] = count,  [LANG_F_SUM] = sum,      [LANG_F_AVG] = average,    [LANG_F_STATS] = average,
		[LANG_F_MIN] = emit_min, [LANG_F_MAX] = emit_max, [LANG_F_HIST] = histogram, [LANG_F_LHIST] = linear,
	};
	const struct lang_map *map = set->a->map;
	uint32_t none = gen_label(g);
	bool first = map->holds->id == LANG_F_MIN || map->holds->id == LANG_F_MAX;
	int value = gen_push(g, 16);

	g->is_result_used = true;
	gen_imm(g, R0, 0);
	gen_store(g, R10, value + 8, R0, 8);
	if (set->b->list)
		gen_expr(g, set->b->list);
	gen_store(g, R10, value, R0, 8);
	gen_element(g, set->a, first ? value : 0, none);
	makes[map->holds->id](g, map, value);
	gen_place_label(g, none);
	gen_pop(g, 16);
}
