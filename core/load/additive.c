/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: turns a read-modify-write of a per-CPU value into an atomic add, or into an atomic maximum.
 * Before: the program is as passed to bpf(2). The compiler of bpftrace emits three steps for count(), sum(), avg() and
 * hist(): look the value up, add to it, update the key.
 * After: the add is atomic. Programs of another form are unchanged.
 * Requires: a map with a value for each CPU, whose value the program reads only for this add.
 *
 * On a CPU, no other program interrupts the three steps. On a multiprocessor, other threads run between them, and all
 * additions except one would be lost.
 *
 *    r0 = lookup(map, key)              stays
 *    if r0 == 0 goto new                stays
 *    rX = *(u64 *)r0                    becomes rX = 0
 *    ... rY = rX + n
 * new:
 *    *(u64 *)(r10 - V) = rY             stores n
 *    update(map, key, r10 - V, 0)       becomes a jump to code after the program: add n atomically to an existing
 *                                       value, or insert n as a new value
 *
 * The update of a maximum (max() and min() of bpftrace) follows a comparison of the new with the looked-up value. Only the
 * update changes: the code after the program replaces a smaller value by compare-and-exchange.
 */
#include "additive.h"
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"

#define HELPER_LOOKUP 1
#define HELPER_UPDATE 2
#define INSNS_MAX 4096u            /* maximum length of a rewritten program; bpftrace's programs are shorter */

struct addition {
	const struct bpf_insn *insns;
	uint32_t n;
	/* indices of instructions; `load` is 0 if the program does not load the value */
	uint32_t update, store, load, lookup;
	int32_t map;
	int16_t key, value; /* offsets from r10 of the key and of the new value */
	uint32_t key_size;
	uint8_t stays; /* jump that keeps the old value in r0, if the update is a maximum; else 0 */
};

static bool is_call(const struct bpf_insn *insn, int32_t helper)
{
	return insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg && insn->imm == helper;
}

/*
 * Returns an array with one flag for each instruction, set if a jump targets it, or NULL if memory runs out. The caller
 * frees the array.
 */
static bool *targets_of(const struct bpf_insn *insns, uint32_t n)
{
	bool *target = calloc(n + 1, sizeof(*target));

	for (uint32_t i = 0; target && i < n; i++) {
		uint8_t class = BPF_CLASS(insns[i].code), op = BPF_OP(insns[i].code);
		int64_t to = (int64_t)i + 1 + insns[i].off;

		if (!additive_is_second_half(insns, i) && (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL &&
		    op != BPF_EXIT && to >= 0 && to <= n)
			target[to] = true;
	}
	return target;
}

static bool writes(const struct bpf_insn *insn, uint8_t reg)
{
	uint8_t class = BPF_CLASS(insn->code);

	return insn->dst_reg == reg && (class == BPF_ALU || class == BPF_ALU64 || class == BPF_LDX || class == BPF_LD);
}

/*
 * Returns true if the instruction reads `reg`, one of r6 to r9. Calls preserve these registers, so a call does not read
 * them.
 */
static bool reads(const struct bpf_insn *insn, uint8_t reg)
{
	uint8_t class = BPF_CLASS(insn->code);
	bool mov = (class == BPF_ALU || class == BPF_ALU64) && BPF_OP(insn->code) == BPF_MOV;
	bool source = class == BPF_LDX || class == BPF_STX ||
		      (class != BPF_LD && class != BPF_ST && BPF_SRC(insn->code) == BPF_X);

	return (source && insn->src_reg == reg) || (insn->dst_reg == reg && !mov && class != BPF_LDX && class != BPF_LD);
}

/*
 * Returns true if the register holds one stack address in the whole program: only a copy of r10 and additions of
 * constants set it. The result *off is the offset from r10.
 */
static bool is_one_address(const struct bpf_insn *insns, uint32_t n, uint8_t reg, int32_t *off)
{
	uint32_t copies = 0, i = 0;

	*off = 0;
	for (; i < n; i++) {
		if (additive_is_second_half(insns, i) || !writes(&insns[i], reg))
			continue;
		if (insns[i].code == (BPF_ALU64 | BPF_MOV | BPF_X) && insns[i].src_reg == BPF_REG_10 && !copies++)
			continue;
		if (insns[i].code != (BPF_ALU64 | BPF_ADD | BPF_K) || !copies || i == 0 || !writes(&insns[i - 1], reg))
			return false;
		*off += insns[i].imm;
	}
	return copies == 1;
}

/*
 * Returns true if instructions before `at` set `reg` to r10 + *off. Returns false if a jump leaves or enters the code
 * between these instructions and `at`.
 */
static bool on_stack(const struct bpf_insn *insns, uint32_t n, const bool *target, uint32_t at, uint8_t reg, int16_t *off)
{
	int32_t sum = 0, base = 0;

	while (at-- && !target[at + 1]) {
		const struct bpf_insn *insn = &insns[at];

		if (additive_is_second_half(insns, at) || !writes(insn, reg)) {
			if (!additive_is_second_half(insns, at) &&
			    (BPF_CLASS(insn->code) == BPF_JMP || BPF_CLASS(insn->code) == BPF_JMP32))
				return false;
			continue;
		}
		if (insn->code == (BPF_ALU64 | BPF_ADD | BPF_K)) {
			sum += insn->imm;
			continue;
		}
		if (insn->code != (BPF_ALU64 | BPF_MOV | BPF_X) ||
		    (insn->src_reg != BPF_REG_10 && !is_one_address(insns, n, insn->src_reg, &base)))
			return false;
		*off = (int16_t)(sum + base);
		return sum + base < 0 && sum + base >= -512;
	}
	return false;
}

/* Returns the index of the map whose pointer is in `reg` at instruction `at`, or -1 if unknown. */
static int32_t map_in(const struct bpf_insn *insns, const bool *target, uint32_t at, uint8_t reg)
{
	while (at-- && !target[at + 1]) {
		const struct bpf_insn *insn = &insns[at];

		if (!additive_is_second_half(insns, at) &&
		    (BPF_CLASS(insn->code) == BPF_JMP || BPF_CLASS(insn->code) == BPF_JMP32))
			return -1;
		if (additive_is_second_half(insns, at) || !writes(insn, reg))
			continue;
		return insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_MAP_FD ? insn->imm : -1;
	}
	return -1;
}

static bool is_zero(const struct bpf_insn *insns, const bool *target, uint32_t at, uint8_t reg)
{
	while (at-- && !target[at + 1])
		if (!additive_is_second_half(insns, at) && writes(&insns[at], reg))
			return insns[at].code == (BPF_ALU64 | BPF_MOV | BPF_K) && !insns[at].imm;
	return false;
}

/*
 * Finds the instruction that stores the value which update() inserts. There must be no jump between this store and the
 * update.
 */
static bool find_store(struct addition *a, const bool *target)
{
	uint32_t at = a->update;

	while (at-- && !target[at + 1]) {
		const struct bpf_insn *insn = &a->insns[at];
		uint8_t class = BPF_CLASS(insn->code);

		if (class == BPF_JMP || class == BPF_JMP32 || class == BPF_ST)
			return false;
		if (class != BPF_STX || additive_is_second_half(a->insns, at))
			continue;
		a->store = at;
		return insn->code == (BPF_STX | BPF_MEM | BPF_DW) && insn->dst_reg == BPF_REG_10 && insn->off == a->value;
	}
	return false;
}

/* Returns true if the instruction looks up the key of the update. */
static bool is_lookup_of(const struct addition *a, const bool *target, uint32_t at)
{
	int16_t key;

	return is_call(&a->insns[at], HELPER_LOOKUP) && map_in(a->insns, target, at, BPF_REG_1) == a->map &&
	       on_stack(a->insns, a->n, target, at, BPF_REG_2, &key) && key == a->key;
}

/* Finds the last look-up of the same key before the store. */
static bool find_lookup(struct addition *a, const bool *target)
{
	for (uint32_t at = a->store; at-- > 0;)
		if (!additive_is_second_half(a->insns, at) && is_lookup_of(a, target, at)) {
			a->lookup = at;
			return true;
		}
	return false;
}

/*
 * Returns true if an instruction that is reachable from `at` reads the register before it is written. The array seen[n]
 * marks the instructions that were visited already.
 */
static bool is_read_from(const struct addition *a, uint32_t at, uint8_t reg, bool *seen)
{
	while (at < a->n && !seen[at]) {
		const struct bpf_insn *insn = &a->insns[at];
		uint8_t class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);
		bool jumps = (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL;

		seen[at] = true;
		if (reads(insn, reg))
			return true;
		if (writes(insn, reg) || (jumps && op == BPF_EXIT))
			return false;
		at += insn->code == (BPF_LD | BPF_IMM | BPF_DW) ? 2 : 1;
		if (jumps && op == BPF_JA)
			at += (uint32_t)(int32_t)insn->off;
		else if (jumps && is_read_from(a, at + (uint32_t)(int32_t)insn->off, reg, seen))
			return true;
	}
	return false;
}

/* Returns true if an instruction after the store reads the register. */
static bool is_read_after(const struct addition *a, uint8_t reg)
{
	bool *seen = calloc(a->n + 1, sizeof(*seen));
	bool read = !seen || is_read_from(a, a->store + 1, reg, seen);

	free(seen);
	return read;
}

static bool reads_stack(const struct bpf_insn *insns, uint32_t n, int16_t off)
{
	bool reads = false;

	for (uint32_t i = 0; i < n; i++)
		reads |= !additive_is_second_half(insns, i) && BPF_CLASS(insns[i].code) == BPF_LDX &&
			 insns[i].src_reg == BPF_REG_10 && insns[i].off == off;
	return reads;
}

static struct additive_flow flow_to(const struct addition *a, uint32_t end)
{
	return (struct additive_flow){ a->insns, a->n, a->lookup, end, a->key, (int32_t)a->key_size, false, 0, NULL };
}

static bool depends(uint8_t part)
{
	return part != PART_NONE && part != PART_EITHER;
}

/* Returns true if the program reads the value after the store, from a register or from the stack. */
static bool is_used_after(const struct addition *a, const struct additive_flow *flow)
{
	const struct additive_state *s = &flow->state[a->store];
	bool is_used = false;

	for (uint8_t r = BPF_REG_6; r <= BPF_REG_9; r++)
		is_used |= depends(s->part[r]) && is_read_after(a, r);
	for (uint32_t i = 0; i < ADDITIVE_SLOTS; i++)
		for (uint32_t at = 0; at < a->n && depends(s->slot[i]); at++)
			is_used |= !(flow->state[at].on_path && at != a->store) &&
				   !additive_is_second_half(a->insns, at) && BPF_CLASS(a->insns[at].code) == BPF_LDX &&
				   a->insns[at].src_reg == BPF_REG_10 && a->insns[at].off > -8 * ((int32_t)i + 2) &&
				   a->insns[at].off < -8 * (int32_t)i;
	return is_used;
}

/* Follows the looked-up value from the look-up to the store. Returns true if only additions and that store use it. */
static bool is_sum(struct addition *a)
{
	struct additive_flow flow = flow_to(a, a->store);
	bool sums = additive_follow(&flow) && flow.load;
	const struct additive_state *s = sums ? &flow.state[a->store] : NULL;

	if (sums) {
		uint8_t stored = s->part[a->insns[a->store].src_reg];

		a->load = flow.load;
		sums = (stored == PART_VALUE || stored == PART_SUM) && !is_used_after(a, &flow);
	}
	free(flow.state);
	return sums;
}

static bool is_addition(struct addition *a, const bool *target)
{
	uint32_t at = a->update;

	a->map = map_in(a->insns, target, at, BPF_REG_1);
	return a->map >= 0 && on_stack(a->insns, a->n, target, at, BPF_REG_2, &a->key) &&
	       on_stack(a->insns, a->n, target, at, BPF_REG_3, &a->value) && is_zero(a->insns, target, at, BPF_REG_4) &&
	       !reads_stack(a->insns, a->n, a->value) && find_store(a, target);
}

/* -- maxima: bpftrace stores min() as the maximum of the complement -- */

/*
 * The conditional jumps that compare the new value with the old value. `old_first`: the old value is the first operand.
 * `falls`: the update follows the jump, else it is the jump's target. `stays` is the jump with the operands (old, new)
 * that ends the update because the old value is the maximum.
 */
static const struct comparison {
	uint8_t op;
	bool old_first, falls;
	uint8_t stays;
} comparisons[] = {
	{ BPF_JSGE, false, false, BPF_JSGE }, { BPF_JSGT, false, false, BPF_JSGE }, { BPF_JSLE, true, false, BPF_JSGE },
	{ BPF_JSLT, true, false, BPF_JSGE },  { BPF_JSLT, false, true, BPF_JSGE },  { BPF_JSLE, false, true, BPF_JSGE },
	{ BPF_JSGT, true, true, BPF_JSGE },   { BPF_JSGE, true, true, BPF_JSGE },   { BPF_JGE, false, false, BPF_JGE },
	{ BPF_JGT, false, false, BPF_JGE },   { BPF_JLE, true, false, BPF_JGE },    { BPF_JLT, true, false, BPF_JGE },
	{ BPF_JLT, false, true, BPF_JGE },    { BPF_JLE, false, true, BPF_JGE },    { BPF_JGT, true, true, BPF_JGE },
	{ BPF_JGE, true, true, BPF_JGE },
};

/* Returns the first instruction of the straight code that ends with the update. */
static uint32_t start_of(const struct addition *a, const bool *target)
{
	uint32_t at = a->update;
	int64_t to;

	while (at && !target[at] && !additive_jump(a->insns, at - 1, &to))
		at--;
	return at;
}

/* Returns the comparison that the jump makes on the way to the update, or NULL. */
static const struct comparison *find_comparison(const struct addition *a, const struct additive_flow *flow, uint32_t jump)
{
	const struct bpf_insn *insn = &a->insns[jump];
	bool falls = flow->end == jump + 1;

	for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++) {
		const struct comparison *c = &comparisons[i];
		uint8_t old = c->old_first ? insn->dst_reg : insn->src_reg,
			new = c->old_first ? insn->src_reg : insn->dst_reg;

		if (insn->code == (BPF_JMP | c->op | BPF_X) && insn->off && c->falls == falls &&
		    flow->state[jump].part[old] == PART_VALUE && !depends(flow->state[jump].part[new]) &&
		    a->insns[a->store].src_reg == new)
			return c;
	}
	return NULL;
}

/* Returns true if `to` is a successor of the instruction `at`. */
static bool leads_to(const struct addition *a, uint32_t at, uint32_t to)
{
	const struct bpf_insn *insn = &a->insns[at];
	bool falls = insn->code != (BPF_JMP | BPF_JA) && insn->code != (BPF_JMP | BPF_EXIT);
	int64_t target;

	return (falls && at + 1 + (insn->code == (BPF_LD | BPF_IMM | BPF_DW)) == to) ||
	       (additive_jump(a->insns, at, &target) && target == to);
}

/*
 * Returns true if each way to the update is safe. On a safe way, a comparison shows that the new value is the maximum, or
 * there is no old value.
 */
static bool is_guarded(struct addition *a, const struct additive_flow *flow)
{
	for (uint32_t at = 0; at < a->n; at++) {
		const struct comparison *c;

		if (additive_is_second_half(a->insns, at) || !leads_to(a, at, flow->end) || !flow->state[at].reached ||
		    flow->state[at].missing || additive_shows_missing(flow, at, flow->end))
			continue;
		c = find_comparison(a, flow, at);
		if (!c || (a->stays && a->stays != c->stays))
			return false;
		a->stays = c->stays;
	}
	return a->stays;
}

/* Returns true if the update replaces the value only by a larger one. */
static bool is_maximum(struct addition *a, const bool *target)
{
	uint32_t start = start_of(a, target);
	struct additive_flow flow = { 0 };
	bool is_maximum = false;

	for (uint32_t at = a->n; at-- > 0 && !is_maximum;) {
		if (additive_is_second_half(a->insns, at) || !is_lookup_of(a, target, at))
			continue;
		a->lookup = at;
		a->stays = 0;
		flow = flow_to(a, start);
		flow.compares = true;
		is_maximum = a->store >= start && additive_follow(&flow) && flow.load && is_guarded(a, &flow);
		free(flow.state);
	}
	for (uint32_t at = start; at < a->store; at++)
		is_maximum &= additive_is_second_half(a->insns, at) || !writes(&a->insns[at], a->insns[a->store].src_reg);
	a->stays = is_maximum ? a->stays : 0;
	return is_maximum;
}

/* -- the replacement -- */

#define BLOCK 36                   /* maximum number of instructions of a replacement */
#define MAX_TRIES 512              /* attempts of a thread to store a maximum while other threads change the value */

static struct bpf_insn *emit_map_key(struct bpf_insn *at, const struct addition *a)
{
	*at++ = (struct bpf_insn){
		.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = a->map
	};
	*at++ = (struct bpf_insn){ 0 };
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10 };
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = a->key };
	return at;
}

static struct bpf_insn emit_call(int32_t helper)
{
	return (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = helper };
}

static struct bpf_insn emit_jump(uint8_t op, int16_t off)
{
	return (struct bpf_insn){ .code = (uint8_t)(BPF_JMP | op | BPF_K), .off = off };
}

/* Adds the new value to the word at r0. */
static struct bpf_insn *emit_sum(struct bpf_insn *at, const struct addition *a)
{
	*at++ = (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 10, .off = a->value };
	*at++ = (struct bpf_insn){ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 0, .src_reg = 1, .imm = BPF_ADD };
	return at;
}

/* Replaces the word at r0 by the new value unless the word is larger. Another thread may change the word meanwhile. */
static struct bpf_insn *emit_maximum(struct bpf_insn *at, const struct addition *a)
{
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2 };
	*at++ = (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 10, .off = a->value };
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 4, .imm = MAX_TRIES };
	*at++ = (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 0, .src_reg = 2 };
	*at++ = (struct bpf_insn){ .code = (uint8_t)(BPF_JMP | a->stays | BPF_X), .src_reg = 1, .off = 5 };
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 3 };
	*at++ = (struct bpf_insn){ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 2, .src_reg = 1, .imm = BPF_CMPXCHG };
	*at++ = (struct bpf_insn){ .code = BPF_JMP | BPF_JEQ | BPF_X, .src_reg = 3, .off = 2 };
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_SUB | BPF_K, .dst_reg = 4, .imm = 1 };
	*at++ = (struct bpf_insn){ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 4, .off = -6 };
	return at;
}

/*
 * Writes the replacement of the update at instruction `from`. It ends with a jump to the instruction after the update.
 * Returns the number of its instructions.
 */
static uint32_t emit_block(struct bpf_insn *insns, uint32_t from, const struct addition *a)
{
	struct bpf_insn *at = emit_map_key(&insns[from], a);

	*at++ = emit_call(HELPER_LOOKUP);
	*at++ = emit_jump(BPF_JNE, 15); /* the key exists: add to its value */
	at = emit_map_key(at, a);
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 3, .src_reg = 10 };
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 3, .imm = a->value };
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 4, .imm = BPF_NOEXIST };
	*at++ = emit_call(HELPER_UPDATE);
	*at++ = emit_jump(BPF_JEQ, (int16_t)(a->stays ? 17 : 9)); /* inserted: done */
	at = emit_map_key(at, a);
	*at++ = emit_call(HELPER_LOOKUP); /* another thread inserted the key first: look it up again */
	*at++ = emit_jump(BPF_JEQ, (int16_t)(a->stays ? 11 : 3)); /* the map is full: lose this value */
	at = a->stays ? emit_maximum(at, a) : emit_sum(at, a);
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 };
	*at = emit_jump(BPF_JA, (int16_t)((int64_t)a->update - (at - insns)));
	return (uint32_t)(at + 1 - insns) - from;
}

/* -- the whole program -- */

static bool has_functions(const struct bpf_insn *insns, uint32_t n)
{
	bool has = false;

	for (uint32_t i = 0; i < n; i++)
		has |= !additive_is_second_half(insns, i) &&
		       ((insns[i].code == (BPF_JMP | BPF_CALL) && insns[i].src_reg == BPF_PSEUDO_CALL) ||
			(insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) && insns[i].src_reg == BPF_PSEUDO_FUNC));
	return has;
}

static bool has_atomics(const struct bpf_insn *insns, uint32_t n)
{
	bool has = false;

	for (uint32_t i = 0; i < n; i++)
		has |= !additive_is_second_half(insns, i) && BPF_CLASS(insns[i].code) == BPF_STX &&
		       BPF_MODE(insns[i].code) == BPF_ATOMIC;
	return has;
}

static bool is_lookup(const struct bpf_insn *insns, uint32_t n, const bool *target, int32_t map)
{
	bool found = false;

	for (uint32_t i = 0; i < n; i++)
		found |= is_call(&insns[i], HELPER_LOOKUP) && !additive_is_second_half(insns, i) &&
			 map_in(insns, target, i, BPF_REG_1) == map;
	return found;
}

static int refuse(const struct gpubpf_map *map, uint32_t pc, struct gpubpf_diag *diag)
{
	gpubpf_diag_remedy(diag, "use count(), sum(), avg(), stats(), min(), max(), hist() or lhist(), which are exact");
	return gpubpf_diag_set(diag, GPUBPF_E_SIMT_LOST, pc,
			       "reads a value of map %s and writes it back, in a form that is no sum, minimum or maximum; a "
			       "multiprocessor runs many threads at once, so updates would be lost",
			       map->name);
}

struct rewriting {
	const struct gpubpf_map *maps;
	uint32_t nmaps;
	struct gpubpf_sys_prog *prog;
	const struct bpf_insn *original; /* [n]: the program's instructions before the first replacement */
	uint32_t n;
	bool *target;
	bool rewrites;
	/*
	 * The program has no atomics, so its compiler probably cannot emit any. An update that cannot become an add is
	 * then refused with a diagnostic, because its effect could be lost.
	 */
	bool explains;
};

static int rewrite_one(struct rewriting *r, uint32_t pc, struct gpubpf_diag *diag)
{
	struct addition a = { .insns = r->original, .n = r->n, .update = pc };
	int32_t map = map_in(a.insns, r->target, pc, BPF_REG_1);
	bool copies = map >= 0 && (uint32_t)map < r->nmaps && r->maps[map].type->flags & GPUBPF_MAP_COPIES;
	struct bpf_insn *insns = r->prog->insns;
	uint32_t at = r->prog->ninsns;

	if (!copies || r->maps[map].value_size != sizeof(uint64_t))
		return 0;
	a.key_size = r->maps[map].key_size;
	if (!r->rewrites || !is_addition(&a, r->target) ||
	    !((find_lookup(&a, r->target) && is_sum(&a)) || is_maximum(&a, r->target)))
		return r->explains && is_zero(r->original, r->target, pc, BPF_REG_4) &&
				       is_lookup(r->original, r->n, r->target, map) ?
			       refuse(&r->maps[map], pc, diag) :
			       0;
	if (!a.stays)
		insns[a.load] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = insns[a.load].dst_reg };
	r->prog->ninsns += emit_block(insns, at, &a);
	insns[pc] = emit_jump(BPF_JA, (int16_t)(at - pc - 1));
	return 0;
}

static uint32_t count_updates(const struct bpf_insn *insns, uint32_t n)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++)
		found += is_call(&insns[i], HELPER_UPDATE) && !additive_is_second_half(insns, i);
	return found;
}

int gpubpf_additive_rewrite(const struct gpubpf_map *maps, uint32_t nmaps, const struct gpubpf_sys_prog *from,
			    struct gpubpf_sys_prog *to, struct gpubpf_diag *diag)
{
	uint32_t room = from->ninsns + BLOCK * count_updates(from->insns, from->ninsns);
	struct rewriting r = { .maps = maps, .nmaps = nmaps, .prog = to, .original = from->insns, .n = from->ninsns };
	int err = 0;

	*to = *from;
	to->insns = malloc((room + 1) * sizeof(*to->insns));
	r.target = targets_of(from->insns, from->ninsns);
	if (!to->insns || !r.target) {
		free(r.target);
		return -ENOMEM;
	}
	memcpy(to->insns, from->insns, from->ninsns * sizeof(*to->insns));
	r.explains = !from->nfuncs && !has_atomics(from->insns, from->ninsns);
	r.rewrites = room <= INSNS_MAX && !has_functions(from->insns, r.n);
	for (uint32_t i = 0; i < r.n && !err; i++)
		if (is_call(&from->insns[i], HELPER_UPDATE) && !additive_is_second_half(from->insns, i))
			err = rewrite_one(&r, i, diag);
	free(r.target);
	return err;
}
