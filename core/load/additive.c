/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: turns a read-modify-write of a per-CPU value into an atomic add.
 * Before: a program as passed to bpf(2). bpftrace compiles count(), sum(), avg() and hist() to: look the value up, add
 * to it, update the key.
 * After: the add is atomic. Programs of another form stay unchanged.
 * Requires: a map with a value for each CPU, whose value the program reads only for this add.
 *
 * On a CPU nothing interrupts the sequence. On a multiprocessor other threads do, and all additions except one would be
 * lost.
 *
 *    r0 = lookup(map, key)              stays
 *    if r0 == 0 goto new                stays
 *    rX = *(u64 *)r0                    becomes rX = 0
 *    ... rY = rX + n
 * new:
 *    *(u64 *)(r10 - V) = rY             is n
 *    update(map, key, r10 - V, 0)       becomes a jump to code after the program: add n atomically to an existing
 *                                       value, or insert n as a new value
 */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"

#define HELPER_LOOKUP 1
#define HELPER_UPDATE 2
#define INSNS_MAX 4096u            /* programs that would become longer than this are not rewritten; bpftrace's are
				    * shorter */

/* How a register depends on the value that the program looked up. */
enum part {
	PART_NONE,
	PART_POINTER, /* the value's address, or NULL */
	PART_VALUE,   /* the value, or its sum with other numbers */
	PART_OTHER,
};

struct addition {
	const struct bpf_insn *insns;
	uint32_t n;
	uint32_t update, store, load, lookup; /* indices of instructions; load is 0 if the program does not read the
					       * value */
	int32_t map;
	int16_t key, value; /* offsets from r10 of the key and the new value */
};

static bool is_call(const struct bpf_insn *insn, int32_t helper)
{
	return insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg && insn->imm == helper;
}

static bool is_second_half(const struct bpf_insn *insns, uint32_t i)
{
	return i && insns[i - 1].code == (BPF_LD | BPF_IMM | BPF_DW);
}

/* Returns, for each instruction, whether a jump targets it; the caller frees the array. NULL: out of memory. */
static bool *targets_of(const struct bpf_insn *insns, uint32_t n)
{
	bool *target = calloc(n + 1, sizeof(*target));

	for (uint32_t i = 0; target && i < n; i++) {
		uint8_t class = BPF_CLASS(insns[i].code), op = BPF_OP(insns[i].code);
		int64_t to = (int64_t)i + 1 + insns[i].off;

		if (!is_second_half(insns, i) && (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL &&
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

/* Does the instruction read reg? reg is one of r6 to r9, which calls preserve. */
static bool reads(const struct bpf_insn *insn, uint8_t reg)
{
	uint8_t class = BPF_CLASS(insn->code);
	bool mov = (class == BPF_ALU || class == BPF_ALU64) && BPF_OP(insn->code) == BPF_MOV;
	bool source = class == BPF_LDX || class == BPF_STX ||
		      (class != BPF_LD && class != BPF_ST && BPF_SRC(insn->code) == BPF_X);

	return (source && insn->src_reg == reg) || (insn->dst_reg == reg && !mov && class != BPF_LDX && class != BPF_LD);
}

/*
 * Does the register hold one stack address in the whole program? Only a copy of r10 and additions of constants may set
 * it.
 */
static bool is_one_address(const struct bpf_insn *insns, uint32_t n, uint8_t reg, int32_t *off)
{
	uint32_t copies = 0, i = 0;

	*off = 0;
	for (; i < n; i++) {
		if (is_second_half(insns, i) || !writes(&insns[i], reg))
			continue;
		if (insns[i].code == (BPF_ALU64 | BPF_MOV | BPF_X) && insns[i].src_reg == BPF_REG_10 && !copies++)
			continue;
		if (insns[i].code != (BPF_ALU64 | BPF_ADD | BPF_K) || !copies || i == 0 || !writes(&insns[i - 1], reg))
			return false;
		*off += insns[i].imm;
	}
	return copies == 1;
}

/* Do the instructions before `at` set reg to r10 + *off, with no jump target among them? */
static bool on_stack(const struct bpf_insn *insns, uint32_t n, const bool *target, uint32_t at, uint8_t reg, int16_t *off)
{
	int32_t sum = 0, base = 0;

	while (at-- && !target[at + 1]) {
		const struct bpf_insn *insn = &insns[at];

		if (is_second_half(insns, at) || !writes(insn, reg)) {
			if (!is_second_half(insns, at) &&
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

/* Returns the index of the map whose pointer is in reg; -1: unknown. */
static int32_t map_in(const struct bpf_insn *insns, const bool *target, uint32_t at, uint8_t reg)
{
	while (at-- && !target[at + 1]) {
		const struct bpf_insn *insn = &insns[at];

		if (!is_second_half(insns, at) && (BPF_CLASS(insn->code) == BPF_JMP || BPF_CLASS(insn->code) == BPF_JMP32))
			return -1;
		if (is_second_half(insns, at) || !writes(insn, reg))
			continue;
		return insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_MAP_FD ? insn->imm : -1;
	}
	return -1;
}

static bool is_zero(const struct bpf_insn *insns, const bool *target, uint32_t at, uint8_t reg)
{
	while (at-- && !target[at + 1])
		if (!is_second_half(insns, at) && writes(&insns[at], reg))
			return insns[at].code == (BPF_ALU64 | BPF_MOV | BPF_K) && !insns[at].imm;
	return false;
}

/* Finds the store of the value that update() inserts. No jump may lie between it and the update. */
static bool find_store(struct addition *a, const bool *target)
{
	uint32_t at = a->update;

	while (at-- && !target[at + 1]) {
		const struct bpf_insn *insn = &a->insns[at];
		uint8_t class = BPF_CLASS(insn->code);

		if (class == BPF_JMP || class == BPF_JMP32 || class == BPF_ST)
			return false;
		if (class != BPF_STX || is_second_half(a->insns, at))
			continue;
		a->store = at;
		return insn->code == (BPF_STX | BPF_MEM | BPF_DW) && insn->dst_reg == BPF_REG_10 && insn->off == a->value;
	}
	return false;
}

static bool find_lookup(struct addition *a, const bool *target)
{
	int16_t key;
	uint32_t at = a->store;

	while (at-- && !is_call(&a->insns[at], HELPER_LOOKUP))
		if (BPF_CLASS(a->insns[at].code) == BPF_JMP && BPF_OP(a->insns[at].code) != BPF_JEQ)
			return false;
	a->lookup = at;
	return at < a->store && map_in(a->insns, target, at, BPF_REG_1) == a->map &&
	       on_stack(a->insns, a->n, target, at, BPF_REG_2, &key) && key == a->key;
}

static enum part added(enum part a, enum part b)
{
	if (a == PART_NONE && b == PART_NONE)
		return PART_NONE;
	return (a == PART_VALUE && b == PART_NONE) || (a == PART_NONE && b == PART_VALUE) ? PART_VALUE : PART_OTHER;
}

static bool follow_alu(const struct bpf_insn *insn, enum part *part)
{
	enum part src = BPF_SRC(insn->code) == BPF_X ? part[insn->src_reg] : PART_NONE;
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;

	if (BPF_OP(insn->code) == BPF_MOV)
		part[insn->dst_reg] = wide || src == PART_NONE ? src : PART_OTHER;
	else if (BPF_OP(insn->code) == BPF_ADD && wide)
		part[insn->dst_reg] = added(part[insn->dst_reg], src);
	else
		part[insn->dst_reg] = part[insn->dst_reg] == PART_NONE && src == PART_NONE ? PART_NONE : PART_OTHER;
	return true;
}

static bool follow_load(struct addition *a, uint32_t at, enum part *part)
{
	const struct bpf_insn *insn = &a->insns[at];

	if (part[insn->src_reg] == PART_NONE) {
		part[insn->dst_reg] = PART_NONE;
		return true;
	}
	if (part[insn->src_reg] != PART_POINTER || insn->code != (BPF_LDX | BPF_MEM | BPF_DW) || insn->off || a->load)
		return false;
	part[insn->dst_reg] = PART_VALUE;
	a->load = at;
	return true;
}

/* Checks a jump past the reads of the value: it is allowed only if the look-up found no value. */
static bool follow_jump(const struct addition *a, uint32_t at, const enum part *part)
{
	const struct bpf_insn *insn = &a->insns[at];

	return insn->code == (BPF_JMP | BPF_JEQ | BPF_K) && !insn->imm && part[insn->dst_reg] == PART_POINTER &&
	       insn->off > 0 && at + 1 + (uint32_t)insn->off <= a->store;
}

static bool follow(struct addition *a, uint32_t at, enum part *part)
{
	const struct bpf_insn *insn = &a->insns[at];

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return follow_alu(insn, part);
	case BPF_LDX:
		return follow_load(a, at, part);
	case BPF_ST:
		return insn->dst_reg == BPF_REG_10 && insn->off != a->key;
	case BPF_STX:
		return insn->code != (BPF_STX | BPF_ATOMIC | BPF_DW) && insn->dst_reg == BPF_REG_10 &&
		       insn->off != a->key && part[insn->src_reg] == PART_NONE;
	case BPF_JMP:
		return follow_jump(a, at, part);
	}
	return false;
}

/*
 * Does an instruction reachable from `at` read the register before it is written? seen: [n], instructions already
 * visited.
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

/* Does an instruction after the store read the register? */
static bool is_read_after(const struct addition *a, uint8_t reg)
{
	bool *seen = calloc(a->n + 1, sizeof(*seen));
	bool read = !seen || is_read_from(a, a->store + 1, reg, seen);

	free(seen);
	return read;
}

/* Follows the value from the look-up to the store. Only additions and that store may use it. */
static bool is_sum(struct addition *a)
{
	enum part part[16] = { [BPF_REG_0] = PART_POINTER };
	bool is_used = false;

	for (uint32_t at = a->lookup + 1; at < a->store; at++)
		if (!follow(a, at, part))
			return false;
	for (uint8_t r = BPF_REG_6; r <= BPF_REG_9; r++)
		is_used |= part[r] != PART_NONE && is_read_after(a, r);
	return !is_used && a->load && part[a->insns[a->store].src_reg] == PART_VALUE;
}

static bool reads_stack(const struct bpf_insn *insns, uint32_t n, int16_t off)
{
	bool reads = false;

	for (uint32_t i = 0; i < n; i++)
		reads |= !is_second_half(insns, i) && BPF_CLASS(insns[i].code) == BPF_LDX &&
			 insns[i].src_reg == BPF_REG_10 && insns[i].off == off;
	return reads;
}

static bool is_addition(struct addition *a, const bool *target)
{
	uint32_t at = a->update;

	a->map = map_in(a->insns, target, at, BPF_REG_1);
	return a->map >= 0 && on_stack(a->insns, a->n, target, at, BPF_REG_2, &a->key) &&
	       on_stack(a->insns, a->n, target, at, BPF_REG_3, &a->value) && is_zero(a->insns, target, at, BPF_REG_4) &&
	       !reads_stack(a->insns, a->n, a->value) && find_store(a, target) && find_lookup(a, target) && is_sum(a);
}

/* -- the replacement -- */

#define BLOCK 25                   /* number of instructions of the replacement */

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

/* Writes the replacement at instruction `from`. It ends with a jump to the instruction after the update. */
static void emit_block(struct bpf_insn *insns, uint32_t from, const struct addition *a)
{
	struct bpf_insn *at = emit_map_key(&insns[from], a);

	*at++ = emit_call(HELPER_LOOKUP);
	*at++ = emit_jump(BPF_JNE, 15); /* the value exists: add */
	at = emit_map_key(at, a);
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 3, .src_reg = 10 };
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 3, .imm = a->value };
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 4, .imm = BPF_NOEXIST };
	*at++ = emit_call(HELPER_UPDATE);
	*at++ = emit_jump(BPF_JEQ, 9); /* inserted: done */
	at = emit_map_key(at, a);
	*at++ = emit_call(HELPER_LOOKUP); /* another thread inserted it first */
	*at++ = emit_jump(BPF_JEQ, 3);    /* the map is full: do not add */
	*at++ = (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 10, .off = a->value };
	*at++ = (struct bpf_insn){ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = 0, .src_reg = 1, .imm = BPF_ADD };
	*at++ = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 };
	*at = emit_jump(BPF_JA, (int16_t)((int64_t)a->update - (at - insns)));
}

/* -- the whole program -- */

static bool has_functions(const struct bpf_insn *insns, uint32_t n)
{
	bool has = false;

	for (uint32_t i = 0; i < n; i++)
		has |= !is_second_half(insns, i) &&
		       ((insns[i].code == (BPF_JMP | BPF_CALL) && insns[i].src_reg == BPF_PSEUDO_CALL) ||
			(insns[i].code == (BPF_LD | BPF_IMM | BPF_DW) && insns[i].src_reg == BPF_PSEUDO_FUNC));
	return has;
}

static bool has_atomics(const struct bpf_insn *insns, uint32_t n)
{
	bool has = false;

	for (uint32_t i = 0; i < n; i++)
		has |= !is_second_half(insns, i) && BPF_CLASS(insns[i].code) == BPF_STX &&
		       BPF_MODE(insns[i].code) == BPF_ATOMIC;
	return has;
}

static bool is_lookup(const struct bpf_insn *insns, uint32_t n, const bool *target, int32_t map)
{
	bool found = false;

	for (uint32_t i = 0; i < n; i++)
		found |= is_call(&insns[i], HELPER_LOOKUP) && !is_second_half(insns, i) &&
			 map_in(insns, target, i, BPF_REG_1) == map;
	return found;
}

static int refuse(const struct gpubpf_map *map, uint32_t pc, struct gpubpf_diag *diag)
{
	gpubpf_diag_remedy(diag, "count(), sum(), avg(), stats(), hist() and lhist() add, and are exact; gpubpf -e has min() and max() "
				 "that are atomic");
	return gpubpf_diag_set(diag, GPUBPF_E_SIMT_LOST, pc,
			       "writes a value of map %s back after reading it, as min() and max() of bpftrace do: bpftrace has one value per CPU, but a "
			       "multiprocessor runs many threads at once, and all of their updates except one would be lost",
			       map->name);
}

struct rewriting {
	const struct gpubpf_map *maps;
	uint32_t nmaps;
	struct gpubpf_sys_prog *prog;
	const struct bpf_insn *original; /* instructions before any replacement, [n] */
	uint32_t n;
	bool *target;
	bool rewrites;
	bool explains; /* refuse an update that cannot become an add: the program's compiler emits no
				        * atomics */
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
	if (!r->rewrites || !is_addition(&a, r->target))
		return r->explains && is_zero(r->original, r->target, pc, BPF_REG_4) &&
				       is_lookup(r->original, r->n, r->target, map) ?
			       refuse(&r->maps[map], pc, diag) :
			       0;
	insns[a.load] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = insns[a.load].dst_reg };
	emit_block(insns, at, &a);
	insns[pc] = emit_jump(BPF_JA, (int16_t)(at - pc - 1));
	r->prog->ninsns += BLOCK;
	return 0;
}

static uint32_t updates(const struct bpf_insn *insns, uint32_t n)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++)
		found += is_call(&insns[i], HELPER_UPDATE) && !is_second_half(insns, i);
	return found;
}

int gpubpf_additive_rewrite(const struct gpubpf_map *maps, uint32_t nmaps, const struct gpubpf_sys_prog *from,
			    struct gpubpf_sys_prog *to, struct gpubpf_diag *diag)
{
	uint32_t room = from->ninsns + BLOCK * updates(from->insns, from->ninsns);
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
		if (is_call(&from->insns[i], HELPER_UPDATE) && !is_second_half(from->insns, i))
			err = rewrite_one(&r, i, diag);
	free(r.target);
	return err;
}
