/* SPDX-License-Identifier: Apache-2.0 */
#include "regalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REGS 256
#define MAX_INSNS 4096             /* maximum number of instructions; values have numbers of 16 bits */
#define NONE UINT16_MAX
#define UNGUARDED 0x40             /* in flight, and no scoreboard says until when */
#define MAX_FIXED_CYCLES 15        /* cycles after which every fixed-latency result of a probe is ready */
#define STACK_POINTER 1

/* State of a register before an instruction: a live value, or a dead one that is in flight. */
struct reg_state {
	uint16_t value;            /* NONE: the register is empty */
	uint8_t boards, fresh;     /* scoreboards that guard it; `fresh` were set so recently that a wait does not see
	                            * them yet */
	uint8_t cycles;            /* until the write completes */
};

struct regalloc {
	const struct sass_arch *arch;
	struct sass_probe *p;
	uint32_t regs;
	uint64_t (*live)[REGS / 64];       /* per instruction: registers that are live before it */
	struct reg_state *states;          /* state before each instruction, by register */
	uint16_t *defined;                 /* number of the value, by instruction and written register */
	uint16_t initial[REGS];            /* values in registers at the start */
	uint32_t nvalues, room;
	uint16_t *parent;                  /* union-find sets of values that share a register */
	/* of each value that represents its set */
	uint16_t *group;                   /* values that must occupy consecutive registers */
	int16_t *at;                       /* offset in the group */
	uint16_t *next;                    /* next value of the group; NONE: none */
	uint8_t *old, *reg, *align;        /* original register, new register, alignment of the group */
	uint64_t *interferes;              /* interference: a bit per pair that may not share a register */
	bool failed;                       /* leave the probe unchanged */
};

/* -- edges -- */

static bool falls_through(const struct regalloc *c, uint32_t i)
{
	uint32_t opcode = sass_opcode(c->p->insns[i]);

	return i + 1 < c->p->n && !((opcode == SASS_OP_BRA || opcode == SASS_OP_EXIT) && sass_is_unconditional(c->p->insns[i]));
}

/* The target of BSSY counts as an edge too. */
static uint32_t target(const struct regalloc *c, uint32_t i)
{
	struct sass_insn insn = c->p->insns[i];
	int64_t to = (int64_t)i + 1 + sass_branch(c->arch, insn) / SASS_INSN;

	if (!sass_has_target(insn))
		return SASS_NONE;
	return to >= 0 && to < c->p->n ? to : SASS_NONE;
}

static bool is_known(const struct regalloc *c, uint32_t i)
{
	struct sass_insn insn = c->p->insns[i];
	bool partly = (sass_opcode(insn) & 0x1ff) == 0x002 && sass_field(insn, 72, 4) != 0xf; /* MOV of some bytes */

	return sass_form_find(sass_opcode(insn)) && !sass_is_uniform(insn) && !partly &&
	       (!sass_has_target(insn) || target(c, i) != SASS_NONE);
}

static struct sass_operand operand(const struct regalloc *c, uint32_t i, unsigned o)
{
	return sass_operand(sass_form_find(sass_opcode(c->p->insns[i])), c->p->insns[i], o);
}

static bool is_unconditional(struct sass_insn insn)
{
	return sass_field(insn, 12, 4) == SASS_PT;
}

/* -- liveness -- */

static bool has_bit(const uint64_t *set, uint32_t bit)
{
	return set[bit / 64] >> bit % 64 & 1;
}

/* The registers that are live after the instruction. */
static void find_live_out(const struct regalloc *c, uint32_t i, uint64_t set[REGS / 64])
{
	uint32_t to = target(c, i);

	memset(set, 0, sizeof(*c->live));
	for (unsigned k = 0; k < REGS / 64; k++)
		set[k] |= (falls_through(c, i) ? c->live[i + 1][k] : 0) | (to != SASS_NONE ? c->live[to][k] : 0);
}

static bool find_live_before(struct regalloc *c, uint32_t i)
{
	uint64_t set[REGS / 64], changed = 0;

	find_live_out(c, i, set);
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);

		for (unsigned k = x.reg;
		     k < (unsigned)x.reg + x.n && x.written && is_unconditional(c->p->insns[i]); k++)
			set[k / 64] &= ~(1ull << k % 64);
	}
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);

		for (unsigned k = x.reg; k < (unsigned)x.reg + x.n && !x.written; k++)
			set[k / 64] |= 1ull << k % 64;
	}
	for (unsigned k = 0; k < REGS / 64; k++)
		changed |= set[k] ^ c->live[i][k];
	memcpy(c->live[i], set, sizeof(set));
	return changed;
}

static void find_live(struct regalloc *c)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = c->p->n; i--;)
			changed |= find_live_before(c, i);
	}
}

/* -- values -- */

static uint16_t find_set(const struct regalloc *c, uint16_t v)
{
	while (c->parent[v] != v)
		v = c->parent[v] = c->parent[c->parent[v]];
	return v;
}

/* Values that reach one read in the same register. */
static uint16_t merge_sets(struct regalloc *c, uint16_t a, uint16_t b)
{
	a = find_set(c, a);
	b = find_set(c, b);
	if (a < b)
		c->parent[b] = a;
	else
		c->parent[a] = b;
	return a < b ? a : b;
}

static void number_values(struct regalloc *c)
{
	c->nvalues = 0;
	for (uint32_t r = 0; r < c->regs; r++)
		c->old[c->nvalues] = r, c->initial[r] = c->nvalues++;
	for (uint32_t i = 0; i < c->p->n; i++)
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = operand(c, i, o);

			for (unsigned k = x.reg; k < (unsigned)x.reg + x.n && x.written; k++)
				c->old[c->nvalues] = k, c->defined[i * c->regs + k] = c->nvalues++;
		}
	for (uint32_t v = 0; v < c->nvalues; v++)
		c->parent[v] = v;
}

static struct reg_state *states_before(const struct regalloc *c, uint32_t i)
{
	return c->states + (size_t)i * c->regs;
}

static bool in_flight(const struct reg_state *state)
{
	return state->boards || state->fresh || state->cycles;
}

/* Is it still in flight after the waits of the instruction? */
static bool stays_in_flight(const struct reg_state *state, struct sass_insn insn)
{
	return (state->boards & ~sass_wait_mask(insn)) || state->fresh || state->cycles;
}

/* Does it read or write registers when later instructions may already execute? */
static bool works_after_issue(struct sass_insn insn)
{
	return sass_is_slow(insn) || sass_op_find(sass_opcode(insn))->class == SASS_ASYNC || sass_boards_set(insn);
}

/* Merges the state of one more edge into the state before instruction i. */
static bool merge_state(struct regalloc *c, uint32_t i, const struct reg_state *from)
{
	bool changed = false;

	for (uint32_t r = 0; r < c->regs; r++) {
		struct reg_state *to = &states_before(c, i)[r], one = from[r], was = *to;

		if (one.value == NONE || (!has_bit(c->live[i], r) && !in_flight(&one)))
			continue;
		to->value = to->value == NONE ? find_set(c, one.value) : merge_sets(c, to->value, one.value);
		to->boards |= one.boards;
		to->fresh |= one.fresh;
		to->cycles = to->cycles > one.cycles ? to->cycles : one.cycles;
		changed |= was.value == NONE || was.boards != to->boards || was.fresh != to->fresh || was.cycles != to->cycles ||
			   find_set(c, was.value) != was.value || to->value != was.value;
	}
	return changed;
}

/* Registers that it reads or writes after issue are in flight. The scoreboard of reads guards sources; without one, the
 * scoreboard of the result does. */
static void leave_in_flight(struct regalloc *c, uint32_t i, struct reg_state *states)
{
	struct sass_insn insn = c->p->insns[i];
	unsigned wb = sass_write_board(insn), rb = sass_read_board(insn);
	bool late = works_after_issue(insn);
	unsigned read = rb != SASS_NO_SCOREBOARD ? rb : wb;

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);
		unsigned board = x.written ? wb : read;

		for (unsigned r = x.reg; r < (unsigned)x.reg + x.n; r++) {
			if (x.written)
				states[r].cycles = late ? 0 : MAX_FIXED_CYCLES;
			if (!late)
				continue;
			if (board == SASS_NO_SCOREBOARD)
				states[r].boards |= UNGUARDED;
			else if (sass_min_cycles(insn) < SASS_SCOREBOARD_CYCLES)
				states[r].fresh |= 1u << board;
			else
				states[r].boards |= 1u << board;
		}
	}
}

static bool reads(const struct regalloc *c, uint32_t i, unsigned reg)
{
	bool any = false;

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);

		any |= !x.written && x.n && reg >= x.reg && reg < (unsigned)x.reg + x.n;
	}
	return any;
}

/* Does the old value stay in the register together with the new one? It does for lanes that do not write, and while it
 * is in flight. Accesses of one unit are in order: an assembler lets one write a register that an earlier one has not
 * read yet. */
static bool old_value_stays(const struct regalloc *c, uint32_t i, unsigned reg)
{
	struct sass_insn insn = c->p->insns[i];

	return !is_unconditional(insn) || (works_after_issue(insn) && reads(c, i, reg)) ||
	       stays_in_flight(&states_before(c, i)[reg], insn);
}

static void apply_insn(struct regalloc *c, uint32_t i, struct reg_state *states)
{
	struct sass_insn insn = c->p->insns[i];
	unsigned passed = sass_min_cycles(insn);

	memcpy(states, states_before(c, i), c->regs * sizeof(*states));
	for (uint32_t r = 0; r < c->regs; r++) {
		states[r].boards = (states[r].boards & ~sass_wait_mask(insn)) | states[r].fresh;
		states[r].fresh = 0;
	}
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);

		for (unsigned r = x.reg; r < (unsigned)x.reg + x.n && x.written; r++) {
			uint16_t made = find_set(c, c->defined[i * c->regs + r]);
			bool keeps_old = old_value_stays(c, i, r) && states[r].value != NONE;

			states[r] = keeps_old ? states[r] : (struct reg_state){ .value = made };
			states[r].value = keeps_old ? merge_sets(c, states[r].value, made) : made;
		}
	}
	leave_in_flight(c, i, states);
	for (uint32_t r = 0; r < c->regs; r++)
		states[r].cycles -= states[r].cycles < passed ? states[r].cycles : passed;
}

static void solve_states(struct regalloc *c)
{
	struct reg_state states[REGS];
	bool changed = true;

	for (size_t k = 0; k < (size_t)c->p->n * c->regs; k++)
		c->states[k] = (struct reg_state){ .value = NONE };
	for (uint32_t r = 0; r < c->regs; r++)
		states[r] = (struct reg_state){ .value = c->initial[r] };
	merge_state(c, 0, states);
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < c->p->n; i++) {
			uint32_t to = target(c, i);

			apply_insn(c, i, states);
			changed |= falls_through(c, i) && merge_state(c, i + 1, states);
			changed |= to != SASS_NONE && merge_state(c, to, states);
		}
	}
}

/* -- interference -- */

static void add_interference(struct regalloc *c, uint16_t a, uint16_t b)
{
	if (c->old[a] == c->old[b])
		return;
	c->interferes[((size_t)a * c->room + b) / 64] |= 1ull << ((size_t)a * c->room + b) % 64;
	c->interferes[((size_t)b * c->room + a) / 64] |= 1ull << ((size_t)b * c->room + a) % 64;
}

/* A written value interferes with all values that are live after the instruction or in flight there. If the instruction
 * is slow, these include its sources. */
static void find_interference(struct regalloc *c, uint32_t i)
{
	struct sass_insn insn = c->p->insns[i];
	uint64_t wanted[REGS / 64];
	struct reg_state states[REGS];
	bool late = works_after_issue(insn);

	apply_insn(c, i, states);
	find_live_out(c, i, wanted);
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);

		for (unsigned w = x.reg; w < (unsigned)x.reg + x.n && x.written; w++)
			for (uint32_t r = 0; r < c->regs; r++) {
				bool there = has_bit(wanted, r) || stays_in_flight(&states_before(c, i)[r], insn) ||
					     (late && in_flight(&states[r]));

				if (there && states[r].value != NONE)
					add_interference(c, find_set(c, states[w].value), find_set(c, states[r].value));
			}
		for (unsigned w = x.reg; w < (unsigned)x.reg + x.n && x.written; w++)
			for (unsigned r = x.reg; r < (unsigned)x.reg + x.n; r++)
				add_interference(c, find_set(c, states[w].value), find_set(c, states[r].value));
	}
}

/* -- groups -- */

/* Places value b `off` registers after a in one group. */
static void join_groups(struct regalloc *c, uint16_t a, uint16_t b, int off)
{
	uint16_t ga = c->group[a], gb = c->group[b];
	int shift = c->at[a] + off - c->at[b];

	if (ga == gb) {
		c->failed |= shift != 0;
		return;
	}
	for (uint16_t v = gb, last = NONE; v != NONE; v = c->next[v]) {
		c->group[v] = ga;
		c->at[v] += shift;
		if (c->next[v] == NONE)
			last = v;
		if (last != NONE) {
			c->next[last] = c->next[ga];
			c->next[ga] = gb;
			break;
		}
	}
	c->align[ga] = c->align[ga] > c->align[gb] ? c->align[ga] : c->align[gb];
}

static void find_groups(struct regalloc *c)
{
	for (uint32_t v = 0; v < c->nvalues; v++) {
		c->group[v] = v;
		c->at[v] = 0;
		c->next[v] = NONE;
		c->align[v] = 1;
	}
	for (uint32_t i = 0; i < c->p->n; i++) {
		struct reg_state after[REGS];

		apply_insn(c, i, after);
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = operand(c, i, o);
			const struct reg_state *states = x.written ? after : states_before(c, i);
			unsigned wide = x.n > 2 ? 4 : x.n;

			for (unsigned k = 0; k < x.n; k++)
				c->failed |= states[x.reg + k].value == NONE;
			if (c->failed)
				return;
			for (unsigned k = 1; k < x.n; k++)
				join_groups(c, find_set(c, states[x.reg].value), find_set(c, states[x.reg + k].value),
					    k);
			if (x.n && wide > c->align[c->group[find_set(c, states[x.reg].value)]])
				c->align[c->group[find_set(c, states[x.reg].value)]] = wide;
		}
	}
}

/* -- registers -- */

struct assignment {
	uint64_t *occupants;       /* the values in each register */
	uint32_t words;            /* words of 64 values per register */
	bool *placed;              /* per group */
	uint32_t regs;
};

/* Registers keep their remainder modulo the group's alignment, so pairs and quads stay aligned. */
static bool is_free_at(const struct regalloc *c, const struct assignment *p, uint16_t group, int base)
{
	for (uint16_t v = group; v != NONE; v = c->next[v]) {
		int reg = base + c->at[v];

		if (reg < 0 || reg >= (int)c->regs || reg % c->align[group] != c->old[v] % c->align[group])
			return false;
		for (uint32_t k = 0; k < p->words; k++)
			if (p->occupants[(size_t)reg * p->words + k] & c->interferes[(size_t)v * p->words + k])
				return false;
	}
	return true;
}

static void assign_group(struct regalloc *c, struct assignment *p, uint16_t group, int base)
{
	p->placed[group] = true;
	for (uint16_t v = group; v != NONE; v = c->next[v]) {
		c->reg[v] = base + c->at[v];
		p->occupants[(size_t)c->reg[v] * p->words + v / 64] |= 1ull << v % 64;
		if (c->reg[v] >= p->regs)
			p->regs = c->reg[v] + 1;
	}
}

static void assign_lowest(struct regalloc *c, struct assignment *p, uint16_t group)
{
	int base = -(int)c->regs;

	while (base < (int)c->regs && !is_free_at(c, p, group, base))
		base++;
	if (base < (int)c->regs)
		assign_group(c, p, group, base);
	else
		c->failed = true;
}

/* The stack pointer first, then groups by falling alignment. */
static void assign_registers(struct regalloc *c, struct assignment *p, bool stack)
{
	for (uint32_t v = 0; v < c->nvalues && stack; v++)
		if (c->parent[v] == v && c->old[v] == STACK_POINTER && !p->placed[c->group[v]])
			assign_group(c, p, c->group[v], STACK_POINTER - c->at[v]);
	for (unsigned wide = 4; wide; wide /= 2)
		for (uint32_t v = 0; v < c->nvalues && !c->failed; v++)
			if (c->parent[v] == v && c->align[c->group[v]] == wide && !p->placed[c->group[v]])
				assign_lowest(c, p, c->group[v]);
}

static void rewrite_insns(struct regalloc *c)
{
	for (uint32_t i = 0; i < c->p->n; i++) {
		struct reg_state after[REGS];
		struct sass_insn to = c->p->insns[i];

		apply_insn(c, i, after);
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = operand(c, i, o);
			const struct reg_state *states = x.written ? after : states_before(c, i);

			if (x.n)
				to = sass_with_field(to, x.at, 8, c->reg[find_set(c, states[x.reg].value)]);
		}
		c->p->insns[i] = sass_with_field(to, SASS_REUSE_AT, 4, 0);
	}
}

static int assign_and_rewrite(struct regalloc *c, bool stack)
{
	struct assignment p = { .words = c->room / 64 };

	p.occupants = calloc((size_t)c->regs * p.words, sizeof(*p.occupants));
	p.placed = calloc(c->nvalues, sizeof(*p.placed));
	if (!p.occupants || !p.placed) {
		free(p.occupants);
		free(p.placed);
		return -ENOMEM;
	}
	assign_registers(c, &p, stack);
	if (!c->failed && p.regs < c->regs)
		rewrite_insns(c);
	free(p.occupants);
	free(p.placed);
	return 0;
}

/* -- entry point -- */

static bool is_supported(struct regalloc *c)
{
	bool known = c->p->n && c->p->n <= MAX_INSNS && c->regs && c->regs < SASS_RZ;

	c->nvalues = c->regs;
	for (uint32_t i = 0; i < c->p->n && known; i++) {
		known = is_known(c, i);
		for (unsigned o = 0; known && o < SASS_OPERANDS; o++)
			c->nvalues += operand(c, i, o).written ? operand(c, i, o).n : 0;
	}
	c->room = (c->nvalues + 63) / 64 * 64;
	return known && c->nvalues < NONE;
}

static int allocate(struct regalloc *c)
{
	size_t states = (size_t)c->p->n * c->regs;

	c->live = calloc(c->p->n, sizeof(*c->live));
	c->states = calloc(states, sizeof(*c->states));
	c->defined = calloc(states, sizeof(*c->defined));
	c->parent = calloc(c->room, sizeof(*c->parent));
	c->group = calloc(c->room, sizeof(*c->group));
	c->at = calloc(c->room, sizeof(*c->at));
	c->next = calloc(c->room, sizeof(*c->next));
	c->old = calloc(c->room, 3);
	c->interferes = calloc((size_t)c->room * c->room / 64, sizeof(*c->interferes));
	if (!c->live || !c->states || !c->defined || !c->parent || !c->group || !c->at || !c->next || !c->old ||
	    !c->interferes)
		return -ENOMEM;
	c->reg = c->old + c->room;
	c->align = c->reg + c->room;
	return 0;
}

static void release(struct regalloc *c)
{
	free(c->live);
	free(c->states);
	free(c->defined);
	free(c->parent);
	free(c->group);
	free(c->at);
	free(c->next);
	free(c->old);
	free(c->interferes);
}

int sass_alloc_registers(const struct sass_arch *arch, struct sass_probe *probe, uint32_t frame)
{
	struct regalloc c = { .arch = arch, .p = probe, .regs = probe->regs };
	int err;

	if (!probe->diverges || !is_supported(&c)) /* sass_schedule() handles straight-line code */
		return 0;
	err = allocate(&c);
	if (!err) {
		find_live(&c);
		number_values(&c);
		solve_states(&c);
		for (uint32_t i = 0; i < probe->n; i++)
			find_interference(&c, i);
		find_groups(&c);
	}
	if (!err && !c.failed)
		err = assign_and_rewrite(&c, frame);
	release(&c);
	return err;
}
