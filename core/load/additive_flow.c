/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows a looked-up value through a program, also across branches, calls and the stack. It repeats until no state
 * changes; states change in one direction only, so this ends.
 *
 * The result is conservative: any use that is not a copy or an addition makes a register PART_OTHER, or ends the analysis.
 */
#include "additive.h"

#include <stdlib.h>
#include <string.h>

#define HELPER_LOOKUP 1
#define STACK_BYTES 512

/* Helpers that write no memory: the number and the number of arguments. */
static const struct {
	int32_t id;
	uint8_t args;
} harmless[] = {
	{ HELPER_LOOKUP, 2 },
	{ BPF_FUNC_ktime_get_ns, 0 },
	{ BPF_FUNC_get_prandom_u32, 0 },
	{ BPF_FUNC_get_smp_processor_id, 0 },
	{ BPF_FUNC_get_current_pid_tgid, 0 },
	{ BPF_FUNC_get_current_uid_gid, 0 },
	{ BPF_FUNC_get_current_task, 0 },
	{ BPF_FUNC_get_current_cgroup_id, 0 },
	{ BPF_FUNC_jiffies64, 0 },
	{ BPF_FUNC_ktime_get_boot_ns, 0 },
	{ BPF_FUNC_ktime_get_coarse_ns, 0 },
	{ BPF_FUNC_ktime_get_tai_ns, 0 },
};

bool additive_jump(const struct bpf_insn *insns, uint32_t at, int64_t *to)
{
	uint8_t class = BPF_CLASS(insns[at].code), op = BPF_OP(insns[at].code);

	*to = (int64_t)at + 1 + insns[at].off;
	return !additive_is_second_half(insns, at) && (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL &&
	       op != BPF_EXIT;
}

static bool is_number(uint8_t part)
{
	return part == PART_NONE || part == PART_EITHER;
}

static uint8_t join(uint8_t a, uint8_t b)
{
	bool sums = (a == PART_VALUE || a == PART_SUM) && (b == PART_VALUE || b == PART_SUM);

	if (a == b)
		return a;
	if (a == PART_EITHER || b == PART_EITHER) {
		uint8_t other = a == PART_EITHER ? b : a;

		return other == PART_POINTER ? PART_OTHER : other;
	}
	return sums ? PART_SUM : PART_OTHER;
}

/* A point that is reached only without a value: each number may count as the missing value plus that number. */
static void set_missing(struct additive_state *s)
{
	s->missing = true;
	for (uint32_t i = 0; i < ADDITIVE_REGISTERS; i++)
		if (s->part[i] == PART_NONE || s->part[i] == PART_POINTER)
			s->part[i] = PART_EITHER;
	for (uint32_t i = 0; i < ADDITIVE_SLOTS; i++)
		if (s->slot[i] == PART_NONE || s->slot[i] == PART_POINTER)
			s->slot[i] = PART_EITHER;
}

/* Merge the state into the state before instruction `to`, if that is on a path to the end. Returns true if it changes. */
static bool merge(struct additive_flow *f, const struct additive_state *from, int64_t to)
{
	struct additive_state *s = to >= 0 && to <= f->n ? &f->state[to] : NULL, before;

	if (!s || !s->on_path)
		return false;
	before = *s;
	if (!s->reached) {
		*s = *from;
		s->on_path = s->reached = true;
		return true;
	}
	s->missing &= from->missing;
	for (uint32_t i = 0; i < ADDITIVE_REGISTERS; i++)
		s->part[i] = join(s->part[i], from->part[i]);
	for (uint32_t i = 0; i < ADDITIVE_SLOTS; i++)
		s->slot[i] = join(s->slot[i], from->slot[i]);
	return memcmp(&before, s, sizeof(before));
}

static uint8_t add(uint8_t a, uint8_t b)
{
	if (is_number(a) && is_number(b))
		return PART_NONE;
	if (is_number(b))
		return a == PART_VALUE || a == PART_SUM ? PART_SUM : PART_OTHER;
	return is_number(a) && (b == PART_VALUE || b == PART_SUM) ? PART_SUM : PART_OTHER;
}

static void step_alu(const struct bpf_insn *insn, struct additive_state *s)
{
	uint8_t src = BPF_SRC(insn->code) == BPF_X ? s->part[insn->src_reg] : PART_NONE, *dst = &s->part[insn->dst_reg];
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;

	if (BPF_OP(insn->code) == BPF_MOV)
		*dst = is_number(src) ? PART_NONE : wide && !insn->off ? src : PART_OTHER;
	else if (BPF_OP(insn->code) == BPF_ADD && wide)
		*dst = add(*dst, src);
	else if (BPF_OP(insn->code) == BPF_SUB && wide && is_number(src))
		*dst = add(*dst, src);
	else
		*dst = is_number(*dst) && is_number(src) ? PART_NONE : PART_OTHER;
}

static uint32_t get_size(const struct bpf_insn *insn)
{
	static const uint8_t sizes[] = { [BPF_W >> 3] = 4, [BPF_H >> 3] = 2, [BPF_B >> 3] = 1, [BPF_DW >> 3] = 8 };

	return sizes[BPF_SIZE(insn->code) >> 3];
}

/* The first and last slot of an access to the stack. Returns false if it is outside of the stack. */
static bool find_slots(const struct bpf_insn *insn, uint32_t *first, uint32_t *last)
{
	int32_t off = insn->off, size = (int32_t)get_size(insn);

	if (off < -STACK_BYTES || off + size > 0)
		return false;
	*first = (uint32_t)(-off - size) / 8;
	*last = (uint32_t)(-off - 1) / 8;
	return true;
}

static bool is_whole_slot(const struct bpf_insn *insn)
{
	return BPF_SIZE(insn->code) == BPF_DW && insn->off % 8 == 0;
}

static bool step_load(struct additive_flow *f, uint32_t at, struct additive_state *s)
{
	const struct bpf_insn *insn = &f->insns[at];
	uint8_t src = s->part[insn->src_reg], *dst = &s->part[insn->dst_reg];
	uint32_t first, last;

	if (insn->src_reg == BPF_REG_10) {
		if (!find_slots(insn, &first, &last))
			return false;
		*dst = is_number(s->slot[first]) && is_number(s->slot[last]) ? PART_NONE :
		       is_whole_slot(insn)                                   ? s->slot[first] :
									       PART_OTHER;
		return true;
	}
	if (is_number(src)) {
		*dst = PART_NONE;
		return true;
	}
	if (src != PART_POINTER || insn->code != (BPF_LDX | BPF_MEM | BPF_DW) || insn->off || (f->load && f->load != at))
		return false;
	*dst = PART_VALUE;
	f->load = at;
	return true;
}

/* Returns true if the program computes the address r10 + off, so that a pointer may refer to this slot. */
static bool is_address_taken(const struct additive_flow *f, int32_t off)
{
	bool taken = false;

	for (uint32_t i = 0; i < f->n; i++)
		taken |= !additive_is_second_half(f->insns, i) && f->insns[i].code == (BPF_ALU64 | BPF_ADD | BPF_K) &&
			 f->insns[i].imm == off;
	return taken;
}

static bool step_store(const struct additive_flow *f, const struct bpf_insn *insn, struct additive_state *s)
{
	bool from_register = BPF_CLASS(insn->code) == BPF_STX;
	uint8_t part = from_register ? s->part[insn->src_reg] : PART_NONE;
	uint32_t first, last;

	if (insn->dst_reg != BPF_REG_10 || BPF_MODE(insn->code) != BPF_MEM || !find_slots(insn, &first, &last) ||
	    (insn->off < f->key + f->key_size && insn->off + (int32_t)get_size(insn) > f->key))
		return false;
	if (!is_number(part) && (!is_whole_slot(insn) || is_address_taken(f, insn->off)))
		return false;
	for (uint32_t i = first; i <= last; i++)
		s->slot[i] = is_whole_slot(insn) ? part : is_number(s->slot[i]) ? PART_NONE : PART_OTHER;
	return true;
}

static bool step_call(const struct bpf_insn *insn, struct additive_state *s)
{
	bool passes = true, known = false;

	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]) && !known; i++) {
		known = !insn->src_reg && insn->imm == harmless[i].id;
		for (uint8_t r = 1; known && r <= harmless[i].args; r++)
			passes &= is_number(s->part[r]);
	}
	memset(s->part, PART_NONE, BPF_REG_6);
	return known && passes;
}

static bool is_null_test(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_JMP && BPF_SRC(insn->code) == BPF_K && !insn->imm &&
	       (BPF_OP(insn->code) == BPF_JEQ || BPF_OP(insn->code) == BPF_JNE);
}

bool additive_shows_missing(const struct additive_flow *f, uint32_t at, uint32_t to)
{
	const struct bpf_insn *insn = &f->insns[at];
	bool falls = to == at + 1;

	return f->state[at].part[insn->dst_reg] == PART_POINTER && is_null_test(insn) && insn->off &&
	       falls == (BPF_OP(insn->code) == BPF_JNE);
}

/* `*falls` receives whether the next instruction follows. *taken receives the state at the jump's target. */
static bool step_jump(struct additive_flow *f, uint32_t at, struct additive_state *s, struct additive_state *taken,
		      bool *falls)
{
	const struct bpf_insn *insn = &f->insns[at];
	uint8_t op = BPF_OP(insn->code), src = BPF_SRC(insn->code) == BPF_X ? s->part[insn->src_reg] : PART_NONE;

	if (op == BPF_CALL)
		return step_call(insn, s);
	*falls = op != BPF_JA && op != BPF_EXIT;
	*taken = *s;
	if (!*falls)
		return true;
	if (s->part[insn->dst_reg] == PART_POINTER && is_null_test(insn) && insn->off)
		set_missing(op == BPF_JEQ ? taken : s);
	else if (!is_number(s->part[insn->dst_reg]) || !is_number(src))
		return f->compares;
	return true;
}

static bool step(struct additive_flow *f, uint32_t at, struct additive_state *s, struct additive_state *taken, bool *falls)
{
	const struct bpf_insn *insn = &f->insns[at];

	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		step_alu(insn, s);
		return true;
	case BPF_LD:
		s->part[insn->dst_reg] = PART_NONE;
		return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
	case BPF_LDX:
		return step_load(f, at, s);
	case BPF_ST:
	case BPF_STX:
		return step_store(f, insn, s);
	default:
		return step_jump(f, at, s, taken, falls);
	}
}

/*
 * Mark the instructions from which the end can be reached without passing the look-up. Returns false if the program's
 * first instruction is one of them: then a path to the end bypasses the look-up.
 */
static bool mark_paths(struct additive_flow *f)
{
	int64_t to;

	f->state[f->end].on_path = true;
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = f->n; i-- > 0;) {
			bool jumps = additive_jump(f->insns, i, &to),
			     wide = f->insns[i].code == (BPF_LD | BPF_IMM | BPF_DW);
			bool falls = f->insns[i].code != (BPF_JMP | BPF_JA) && f->insns[i].code != (BPF_JMP | BPF_EXIT);

			if (i == f->lookup || i == f->end || f->state[i].on_path || additive_is_second_half(f->insns, i))
				continue;
			changed |= f->state[i].on_path = (falls && f->state[i + 1 + wide].on_path) ||
							 (jumps && to >= 0 && to <= f->n && f->state[to].on_path);
		}
	}
	return f->lookup == 0 || !f->state[0].on_path;
}

/* Execute the instruction on its state, and merge the result into its successors. */
static bool advance(struct additive_flow *f, uint32_t at, bool *changed)
{
	struct additive_state s = f->state[at], taken = s;
	bool falls = true;
	int64_t to;

	if (!step(f, at, &s, &taken, &falls))
		return false;
	if (s.missing)
		set_missing(&s);
	if (falls)
		*changed |= merge(f, &s, at + 1 + (f->insns[at].code == (BPF_LD | BPF_IMM | BPF_DW)));
	if (additive_jump(f->insns, at, &to))
		*changed |= merge(f, &taken, to);
	return true;
}

bool additive_follow(struct additive_flow *f)
{
	bool changed = true;

	f->load = 0;
	f->state = calloc(f->n + 2, sizeof(*f->state));
	if (!f->state || !mark_paths(f) || !f->state[f->lookup + 1].on_path)
		return false;
	f->state[f->lookup + 1].reached = true;
	f->state[f->lookup + 1].part[BPF_REG_0] = PART_POINTER;
	while (changed) {
		changed = false;
		for (uint32_t at = 0; at < f->n; at++)
			if (at != f->end && f->state[at].on_path && f->state[at].reached && !advance(f, at, &changed))
				return false;
	}
	return f->state[f->end].reached;
}
