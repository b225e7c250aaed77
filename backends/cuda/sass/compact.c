/* SPDX-License-Identifier: Apache-2.0 */
#include "compact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REGS 256
#define MOST 4096                  /* most instructions; values have numbers of 16 bits */
#define NONE UINT16_MAX
#define FOREVER 0x40               /* in flight, and no scoreboard says until when */
#define SETTLED 15                 /* cycles after which every fixed-latency result of a probe is ready */
#define STACK_POINTER 1

/* State of a register before an instruction: a live value, or a dead one that is in flight. */
struct cell {
	uint16_t value;            /* NONE: the register is empty */
	uint8_t boards, fresh;     /* scoreboards that guard it; `fresh` were set so recently that a wait does not see
	                            * them yet */
	uint8_t cycles;            /* until the write completes */
};

struct compacting {
	const struct sass_arch *arch;
	struct sass_probe *p;
	uint32_t regs;
	uint64_t (*live)[REGS / 64];       /* per instruction: registers that are live before it */
	struct cell *cells;                /* state before each instruction, by register */
	uint16_t *defined;                 /* number of the value, by instruction and written register */
	uint16_t entered[REGS];            /* values in registers at the start */
	uint32_t nvalues, room;
	uint16_t *same;                    /* union-find sets of values that share a register */
	/* of each value that represents its set */
	uint16_t *group;                   /* values that must occupy consecutive registers */
	int16_t *at;                       /* offset in the group */
	uint16_t *next;                    /* next value of the group; NONE: none */
	uint8_t *old, *reg, *wide;         /* original register, new register, alignment of the group */
	uint64_t *meets;                   /* interference: a bit per pair that may not share a register */
	bool failed;                       /* leave the probe unchanged */
};

/* -- edges -- */

static bool goes_on(const struct compacting *c, uint32_t i)
{
	uint32_t opcode = sass_opcode(c->p->insns[i]);

	return i + 1 < c->p->n && !((opcode == SASS_OP_BRA || opcode == SASS_OP_EXIT) && sass_unconditional(c->p->insns[i]));
}

/* The target of BSSY counts as an edge too. */
static uint32_t target(const struct compacting *c, uint32_t i)
{
	struct sass_insn insn = c->p->insns[i];
	int64_t to = (int64_t)i + 1 + sass_branch(c->arch, insn) / SASS_INSN;

	if (!sass_has_target(insn))
		return SASS_NONE;
	return to >= 0 && to < c->p->n ? to : SASS_NONE;
}

static bool is_known(const struct compacting *c, uint32_t i)
{
	struct sass_insn insn = c->p->insns[i];
	bool partly = (sass_opcode(insn) & 0x1ff) == 0x002 && sass_field(insn, 72, 4) != 0xf; /* MOV of some bytes */

	return sass_form_find(sass_opcode(insn)) && !sass_is_uniform(insn) && !partly &&
	       (!sass_has_target(insn) || target(c, i) != SASS_NONE);
}

static struct sass_operand operand(const struct compacting *c, uint32_t i, unsigned o)
{
	return sass_operand(sass_form_find(sass_opcode(c->p->insns[i])), c->p->insns[i], o);
}

static bool is_always(struct sass_insn insn)
{
	return sass_field(insn, 12, 4) == SASS_PT;
}

/* -- liveness -- */

static bool has(const uint64_t *set, uint32_t bit)
{
	return set[bit / 64] >> bit % 64 & 1;
}

/* The registers that are live after the instruction. */
static void find_wanted(const struct compacting *c, uint32_t i, uint64_t set[REGS / 64])
{
	uint32_t to = target(c, i);

	memset(set, 0, sizeof(*c->live));
	for (unsigned k = 0; k < REGS / 64; k++)
		set[k] |= (goes_on(c, i) ? c->live[i + 1][k] : 0) | (to != SASS_NONE ? c->live[to][k] : 0);
}

static bool find_live_before(struct compacting *c, uint32_t i)
{
	uint64_t set[REGS / 64], changed = 0;

	find_wanted(c, i, set);
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);

		for (unsigned k = x.reg; k < (unsigned)x.reg + x.n && x.written && is_always(c->p->insns[i]); k++)
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

static void find_live(struct compacting *c)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t i = c->p->n; i--;)
			changed |= find_live_before(c, i);
	}
}

/* -- values -- */

static uint16_t find(const struct compacting *c, uint16_t v)
{
	while (c->same[v] != v)
		v = c->same[v] = c->same[c->same[v]];
	return v;
}

/* Values that reach one read in the same register. */
static uint16_t unite(struct compacting *c, uint16_t a, uint16_t b)
{
	a = find(c, a);
	b = find(c, b);
	if (a < b)
		c->same[b] = a;
	else
		c->same[a] = b;
	return a < b ? a : b;
}

static void number(struct compacting *c)
{
	c->nvalues = 0;
	for (uint32_t r = 0; r < c->regs; r++)
		c->old[c->nvalues] = r, c->entered[r] = c->nvalues++;
	for (uint32_t i = 0; i < c->p->n; i++)
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = operand(c, i, o);

			for (unsigned k = x.reg; k < (unsigned)x.reg + x.n && x.written; k++)
				c->old[c->nvalues] = k, c->defined[i * c->regs + k] = c->nvalues++;
		}
	for (uint32_t v = 0; v < c->nvalues; v++)
		c->same[v] = v;
}

static struct cell *cells_of(const struct compacting *c, uint32_t i)
{
	return c->cells + (size_t)i * c->regs;
}

static bool in_flight(const struct cell *cell)
{
	return cell->boards || cell->fresh || cell->cycles;
}

/* Is it still in flight after the waits of the instruction? */
static bool stays_in_flight(const struct cell *cell, struct sass_insn insn)
{
	return (cell->boards & ~sass_waits(insn)) || cell->fresh || cell->cycles;
}

/* Does it read or write registers when later instructions may already execute? */
static bool is_late(struct sass_insn insn)
{
	return sass_is_slow(insn) || sass_op_find(sass_opcode(insn))->class == SASS_ASYNC || sass_boards_set(insn);
}

/* Merges the state of one more edge into the state before instruction i. */
static bool come(struct compacting *c, uint32_t i, const struct cell *from)
{
	bool changed = false;

	for (uint32_t r = 0; r < c->regs; r++) {
		struct cell *to = &cells_of(c, i)[r], one = from[r], was = *to;

		if (one.value == NONE || (!has(c->live[i], r) && !in_flight(&one)))
			continue;
		to->value = to->value == NONE ? find(c, one.value) : unite(c, to->value, one.value);
		to->boards |= one.boards;
		to->fresh |= one.fresh;
		to->cycles = to->cycles > one.cycles ? to->cycles : one.cycles;
		changed |= was.value == NONE || was.boards != to->boards || was.fresh != to->fresh || was.cycles != to->cycles ||
			   find(c, was.value) != was.value || to->value != was.value;
	}
	return changed;
}

/* Registers that it reads or writes after issue are in flight. The scoreboard of reads guards sources; without one, the
 * scoreboard of the result does. */
static void leave_in_flight(struct compacting *c, uint32_t i, struct cell *cells)
{
	struct sass_insn insn = c->p->insns[i];
	unsigned wb = sass_write_board(insn), rb = sass_read_board(insn);
	bool late = is_late(insn);
	unsigned read = rb != SASS_NO_SCOREBOARD ? rb : wb;

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);
		unsigned board = x.written ? wb : read;

		for (unsigned r = x.reg; r < (unsigned)x.reg + x.n; r++) {
			if (x.written)
				cells[r].cycles = late ? 0 : SETTLED;
			if (!late)
				continue;
			if (board == SASS_NO_SCOREBOARD)
				cells[r].boards |= FOREVER;
			else if (sass_passes(insn) < SASS_SEEN)
				cells[r].fresh |= 1u << board;
			else
				cells[r].boards |= 1u << board;
		}
	}
}

static bool reads(const struct compacting *c, uint32_t i, unsigned reg)
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
static bool stays(const struct compacting *c, uint32_t i, unsigned reg)
{
	struct sass_insn insn = c->p->insns[i];

	return !is_always(insn) || (is_late(insn) && reads(c, i, reg)) || stays_in_flight(&cells_of(c, i)[reg], insn);
}

static void carry_out(struct compacting *c, uint32_t i, struct cell *cells)
{
	struct sass_insn insn = c->p->insns[i];
	unsigned passed = sass_passes(insn);

	memcpy(cells, cells_of(c, i), c->regs * sizeof(*cells));
	for (uint32_t r = 0; r < c->regs; r++) {
		cells[r].boards = (cells[r].boards & ~sass_waits(insn)) | cells[r].fresh;
		cells[r].fresh = 0;
	}
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);

		for (unsigned r = x.reg; r < (unsigned)x.reg + x.n && x.written; r++) {
			uint16_t made = find(c, c->defined[i * c->regs + r]);
			bool kept = stays(c, i, r) && cells[r].value != NONE;

			cells[r] = kept ? cells[r] : (struct cell){ .value = made };
			cells[r].value = kept ? unite(c, cells[r].value, made) : made;
		}
	}
	leave_in_flight(c, i, cells);
	for (uint32_t r = 0; r < c->regs; r++)
		cells[r].cycles -= cells[r].cycles < passed ? cells[r].cycles : passed;
}

static void follow(struct compacting *c)
{
	struct cell cells[REGS];
	bool changed = true;

	for (size_t k = 0; k < (size_t)c->p->n * c->regs; k++)
		c->cells[k] = (struct cell){ .value = NONE };
	for (uint32_t r = 0; r < c->regs; r++)
		cells[r] = (struct cell){ .value = c->entered[r] };
	come(c, 0, cells);
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < c->p->n; i++) {
			uint32_t to = target(c, i);

			carry_out(c, i, cells);
			changed |= goes_on(c, i) && come(c, i + 1, cells);
			changed |= to != SASS_NONE && come(c, to, cells);
		}
	}
}

/* -- interference -- */

static void meet(struct compacting *c, uint16_t a, uint16_t b)
{
	if (c->old[a] == c->old[b])
		return;
	c->meets[((size_t)a * c->room + b) / 64] |= 1ull << ((size_t)a * c->room + b) % 64;
	c->meets[((size_t)b * c->room + a) / 64] |= 1ull << ((size_t)b * c->room + a) % 64;
}

/* A written value interferes with all values that are live after the instruction or in flight there. If the instruction
 * is slow, these include its sources. */
static void find_meetings(struct compacting *c, uint32_t i)
{
	struct sass_insn insn = c->p->insns[i];
	uint64_t wanted[REGS / 64];
	struct cell cells[REGS];
	bool late = is_late(insn);

	carry_out(c, i, cells);
	find_wanted(c, i, wanted);
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		struct sass_operand x = operand(c, i, o);

		for (unsigned w = x.reg; w < (unsigned)x.reg + x.n && x.written; w++)
			for (uint32_t r = 0; r < c->regs; r++) {
				bool there = has(wanted, r) || stays_in_flight(&cells_of(c, i)[r], insn) ||
					     (late && in_flight(&cells[r]));

				if (there && cells[r].value != NONE)
					meet(c, find(c, cells[w].value), find(c, cells[r].value));
			}
		for (unsigned w = x.reg; w < (unsigned)x.reg + x.n && x.written; w++)
			for (unsigned r = x.reg; r < (unsigned)x.reg + x.n; r++)
				meet(c, find(c, cells[w].value), find(c, cells[r].value));
	}
}

/* -- groups -- */

/* Places value b `off` registers after a in one group. */
static void join(struct compacting *c, uint16_t a, uint16_t b, int off)
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
	c->wide[ga] = c->wide[ga] > c->wide[gb] ? c->wide[ga] : c->wide[gb];
}

static void find_groups(struct compacting *c)
{
	for (uint32_t v = 0; v < c->nvalues; v++) {
		c->group[v] = v;
		c->at[v] = 0;
		c->next[v] = NONE;
		c->wide[v] = 1;
	}
	for (uint32_t i = 0; i < c->p->n; i++) {
		struct cell after[REGS];

		carry_out(c, i, after);
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = operand(c, i, o);
			const struct cell *cells = x.written ? after : cells_of(c, i);
			unsigned wide = x.n > 2 ? 4 : x.n;

			for (unsigned k = 0; k < x.n; k++)
				c->failed |= cells[x.reg + k].value == NONE;
			if (c->failed)
				return;
			for (unsigned k = 1; k < x.n; k++)
				join(c, find(c, cells[x.reg].value), find(c, cells[x.reg + k].value), k);
			if (x.n && wide > c->wide[c->group[find(c, cells[x.reg].value)]])
				c->wide[c->group[find(c, cells[x.reg].value)]] = wide;
		}
	}
}

/* -- registers -- */

struct placing {
	uint64_t *there;           /* the values in each register */
	uint32_t words;            /* words of 64 values per register */
	bool *placed;              /* per group */
	uint32_t regs;
};

/* Registers keep their remainder modulo the group's alignment, so pairs and quads stay aligned. */
static bool lies_free(const struct compacting *c, const struct placing *p, uint16_t group, int base)
{
	for (uint16_t v = group; v != NONE; v = c->next[v]) {
		int reg = base + c->at[v];

		if (reg < 0 || reg >= (int)c->regs || reg % c->wide[group] != c->old[v] % c->wide[group])
			return false;
		for (uint32_t k = 0; k < p->words; k++)
			if (p->there[(size_t)reg * p->words + k] & c->meets[(size_t)v * p->words + k])
				return false;
	}
	return true;
}

static void place(struct compacting *c, struct placing *p, uint16_t group, int base)
{
	p->placed[group] = true;
	for (uint16_t v = group; v != NONE; v = c->next[v]) {
		c->reg[v] = base + c->at[v];
		p->there[(size_t)c->reg[v] * p->words + v / 64] |= 1ull << v % 64;
		if (c->reg[v] >= p->regs)
			p->regs = c->reg[v] + 1;
	}
}

static void give(struct compacting *c, struct placing *p, uint16_t group)
{
	int base = -(int)c->regs;

	while (base < (int)c->regs && !lies_free(c, p, group, base))
		base++;
	if (base < (int)c->regs)
		place(c, p, group, base);
	else
		c->failed = true;
}

/* The stack pointer first, then groups by falling alignment. */
static void give_registers(struct compacting *c, struct placing *p, bool stack)
{
	for (uint32_t v = 0; v < c->nvalues && stack; v++)
		if (c->same[v] == v && c->old[v] == STACK_POINTER && !p->placed[c->group[v]])
			place(c, p, c->group[v], STACK_POINTER - c->at[v]);
	for (unsigned wide = 4; wide; wide /= 2)
		for (uint32_t v = 0; v < c->nvalues && !c->failed; v++)
			if (c->same[v] == v && c->wide[c->group[v]] == wide && !p->placed[c->group[v]])
				give(c, p, c->group[v]);
}

static void write_all(struct compacting *c)
{
	for (uint32_t i = 0; i < c->p->n; i++) {
		struct cell after[REGS];
		struct sass_insn to = c->p->insns[i];

		carry_out(c, i, after);
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			struct sass_operand x = operand(c, i, o);
			const struct cell *cells = x.written ? after : cells_of(c, i);

			if (x.n)
				to = sass_with(to, x.at, 8, c->reg[find(c, cells[x.reg].value)]);
		}
		c->p->insns[i] = sass_with(to, SASS_REUSE_AT, 4, 0);
	}
}

static int settle(struct compacting *c, bool stack)
{
	struct placing p = { .words = c->room / 64 };

	p.there = calloc((size_t)c->regs * p.words, sizeof(*p.there));
	p.placed = calloc(c->nvalues, sizeof(*p.placed));
	if (!p.there || !p.placed) {
		free(p.there);
		free(p.placed);
		return -ENOMEM;
	}
	give_registers(c, &p, stack);
	if (!c->failed && p.regs < c->regs)
		write_all(c);
	free(p.there);
	free(p.placed);
	return 0;
}

/* -- entry point -- */

static bool is_small(struct compacting *c)
{
	bool known = c->p->n && c->p->n <= MOST && c->regs && c->regs < SASS_RZ;

	c->nvalues = c->regs;
	for (uint32_t i = 0; i < c->p->n && known; i++) {
		known = is_known(c, i);
		for (unsigned o = 0; known && o < SASS_OPERANDS; o++)
			c->nvalues += operand(c, i, o).written ? operand(c, i, o).n : 0;
	}
	c->room = (c->nvalues + 63) / 64 * 64;
	return known && c->nvalues < NONE;
}

static int allocate(struct compacting *c)
{
	size_t cells = (size_t)c->p->n * c->regs;

	c->live = calloc(c->p->n, sizeof(*c->live));
	c->cells = calloc(cells, sizeof(*c->cells));
	c->defined = calloc(cells, sizeof(*c->defined));
	c->same = calloc(c->room, sizeof(*c->same));
	c->group = calloc(c->room, sizeof(*c->group));
	c->at = calloc(c->room, sizeof(*c->at));
	c->next = calloc(c->room, sizeof(*c->next));
	c->old = calloc(c->room, 3);
	c->meets = calloc((size_t)c->room * c->room / 64, sizeof(*c->meets));
	if (!c->live || !c->cells || !c->defined || !c->same || !c->group || !c->at || !c->next || !c->old || !c->meets)
		return -ENOMEM;
	c->reg = c->old + c->room;
	c->wide = c->reg + c->room;
	return 0;
}

static void release(struct compacting *c)
{
	free(c->live);
	free(c->cells);
	free(c->defined);
	free(c->same);
	free(c->group);
	free(c->at);
	free(c->next);
	free(c->old);
	free(c->meets);
}

int sass_compact(const struct sass_arch *arch, struct sass_probe *probe, uint32_t frame)
{
	struct compacting c = { .arch = arch, .p = probe, .regs = probe->regs };
	int err;

	if (!probe->diverges || !is_small(&c)) /* sass_schedule() handles straight-line code */
		return 0;
	err = allocate(&c);
	if (!err) {
		find_live(&c);
		number(&c);
		follow(&c);
		for (uint32_t i = 0; i < probe->n; i++)
			find_meetings(&c, i);
		find_groups(&c);
	}
	if (!err && !c.failed)
		err = settle(&c, frame);
	release(&c);
	return err;
}
