/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_VALUES 320
#define NONE UINT16_MAX
#define PREDICATES 7
#define SCOREBOARD_CYCLES 2        /* cycles until an instruction can wait for a scoreboard that was just set */
#define MAX_FIXED_CYCLES 15        /* cycles: more than any fixed latency */

/* -- values -- */

struct node {
	struct sass_insn insn;
	uint16_t value[SASS_OPERANDS][4];
	uint8_t n[SASS_OPERANDS];
	uint16_t predicate[SASS_PREDICATE_FIELDS]; /* NONE: PT, or no predicate */
	uint32_t index;            /* in the original probe */
	bool removed, ordered, slow;
	bool stays, known;         /* stays and known of struct sass_pinned_results */
	uint32_t height;           /* estimated cycles from it to the end */
	uint32_t waited;           /* position of the first wait for its scoreboard; 0: there is none yet */
	uint8_t board;
};

/* A value is the result of one instruction in one register or predicate. Values that must occupy consecutive registers
 * form a group. */
struct values {
	uint16_t group[MAX_VALUES], same[MAX_VALUES]; /* same: the value that it copies */
	int8_t at[MAX_VALUES];
	uint8_t writers[MAX_VALUES];
	uint16_t n;
};

struct schedule {
	const struct sass_arch *arch;
	struct node nodes[SASS_STRAIGHT_MAX_INSNS];
	uint16_t order[SASS_STRAIGHT_MAX_INSNS];
	uint32_t n, norder;
	struct values v;
	uint16_t latency[SASS_STRAIGHT_MAX_INSNS][SASS_STRAIGHT_MAX_INSNS];  /* estimated cycles from one instruction to a later one; 0:
	                                                  * they are independent */
	uint8_t wide[MAX_VALUES];      /* alignment, size and first register of a group */
	uint8_t size[MAX_VALUES], reg[MAX_VALUES];
	uint32_t free_at[MAX_VALUES];  /* position after which a group's registers are free; UINT32_MAX: never */
	uint32_t last[MAX_VALUES];     /* position of a value's last use */
	uint32_t regs;
	bool failed;
};

static uint16_t new_value(struct schedule *s)
{
	uint16_t v = s->v.n;

	if (v == MAX_VALUES) {
		s->failed = true;
		return 0;
	}
	s->v.n++;
	s->v.group[v] = s->v.same[v] = v;
	s->v.at[v] = 0;
	s->v.writers[v] = 0;
	return v;
}

/* Places value b `off` registers after a in one group. */
static void join_groups(struct schedule *s, uint16_t a, uint16_t b, int off)
{
	uint16_t from = s->v.group[b], to = s->v.group[a];
	int move = s->v.at[a] + off - s->v.at[b];

	if (from == to) {
		s->failed |= move != 0;
		return;
	}
	for (uint16_t i = 0; i < s->v.n; i++) {
		if (s->v.group[i] != from)
			continue;
		s->failed |= s->v.at[i] + move > 7 || s->v.at[i] + move < -7;
		s->v.at[i] += move;
		s->v.group[i] = to;
	}
}

/* Do two different values have one register? */
static bool has_collision(const struct values *v)
{
	for (uint16_t a = 0; a < v->n; a++)
		for (uint16_t b = 0; b < a; b++)
			if (v->group[a] == v->group[b] && v->at[a] == v->at[b] && v->same[a] != v->same[b])
				return true;
	return false;
}

static void read_operand(struct schedule *s, struct node *node, unsigned o, uint16_t cur[256])
{
	struct sass_operand x = sass_operand(sass_form_find(sass_opcode(node->insn)), node->insn, o);
	bool writes = o == 0, whole = sass_field(node->insn, 12, 3) == SASS_PT;

	node->n[o] = x.n;
	for (unsigned k = 0; k < x.n; k++) {
		uint16_t *at = &cur[(x.reg + k) & 255];

		if (*at == NONE || (writes && whole))
			*at = new_value(s);
		s->v.writers[*at] += writes;
		node->value[o][k] = *at;
		if (k)
			join_groups(s, node->value[o][0], *at, k);
	}
}

static void read_predicates(struct schedule *s, struct node *node, uint16_t cur[PREDICATES], bool written)
{
	int fields = sass_predicate_fields(node->insn);
	bool whole = sass_field(node->insn, 12, 3) == SASS_PT;

	for (unsigned f = 0; f < SASS_PREDICATE_FIELDS; f++) {
		unsigned p = sass_field(node->insn, sass_predicate_at[f], 3);

		if ((f >= SASS_P_OUT) != written)
			continue;
		node->predicate[f] = NONE;
		if (!(fields >> f & 1) || p == SASS_PT)
			continue;
		if (cur[p] == NONE || (written && whole))
			cur[p] = new_value(s);
		s->v.writers[cur[p]] += written;
		node->predicate[f] = cur[p];
	}
}

/* Is this straight-line code of known instructions, in which all lanes end at the last one at the latest? */
static bool is_straight(const struct sass_probe *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		struct sass_insn insn = p->insns[i];
		bool end = sass_opcode(insn) == SASS_OP_EXIT, last = i + 1 == p->n;
		bool never = sass_field(insn, 12, 4) == (SASS_PT | 8);

		if (!sass_form_find(sass_opcode(insn)) || sass_predicate_fields(insn) < 0 || never ||
		    (end && sass_field(insn, 87, 4) != SASS_PT) || (end && sass_is_unconditional(insn)) != last)
			return false;
	}
	return p->n && p->n <= SASS_STRAIGHT_MAX_INSNS;
}

static void build_nodes(struct schedule *s, const struct sass_probe *p)
{
	uint16_t cur[256], curp[PREDICATES];

	memset(cur, 0xff, sizeof(cur));
	memset(curp, 0xff, sizeof(curp));
	for (uint32_t i = 0; i < p->n; i++) {
		struct node *node = &s->nodes[s->n];

		if (sass_opcode(p->insns[i]) == SASS_OP_NOP)
			continue;
		*node = (struct node){ .insn = p->insns[i], .index = i, .ordered = sass_has_side_effect(p->insns[i]),
				       .slow = sass_is_slow(p->insns[i]) };
		for (unsigned o = SASS_OPERANDS; o--;)
			read_operand(s, node, o, cur);
		read_predicates(s, node, curp, false);
		read_predicates(s, node, curp, true);
		s->n++;
	}
	for (uint16_t v = 0; v < s->v.n; v++)
		s->failed |= s->v.writers[v] > 1;
	s->failed |= has_collision(&s->v);
}

/* -- known results, and results that stay -- */

static bool is_read(const struct schedule *s, uint16_t v);

static bool predicates_are_read(const struct schedule *s, const struct node *node)
{
	for (unsigned f = SASS_P_OUT; f < SASS_PREDICATE_FIELDS; f++)
		if (node->predicate[f] != NONE && is_read(s, node->predicate[f]))
			return true;
	return false;
}

/* Known results are not computed, unless an instruction reads a predicate that the same instruction writes: predicates
 * are in no register. */
static void apply_known(struct schedule *s, const struct sass_pinned_results *lasting)
{
	bool again = true;

	for (uint32_t i = 0; i < s->n; i++)
		s->nodes[i].removed = s->nodes[i].known = lasting->known[s->nodes[i].index] && s->nodes[i].n[0];
	while (again) {
		again = false;
		for (uint32_t i = 0; i < s->n; i++)
			if (s->nodes[i].known && predicates_are_read(s, &s->nodes[i])) {
				s->nodes[i].removed = s->nodes[i].known = false;
				again = true;
			}
	}
}

static bool is_known_and_read(const struct schedule *s, const struct node *node)
{
	for (unsigned k = 0; node->known && k < node->n[0]; k++)
		if (is_read(s, node->value[0][k]))
			return true;
	return false;
}

/* -- fewer instructions -- */

/* Coalesces a copy with its source if no two values collide. */
static void join_copies(struct schedule *s)
{
	for (uint32_t i = 0; i < s->n && !s->failed; i++) {
		struct node *node = &s->nodes[i];
		unsigned from = sass_copy_source_field(node->insn);
		struct values before = s->v;
		uint16_t a, b;

		if (!from || node->removed || node->predicate[SASS_P_GUARD] != NONE)
			continue;
		a = node->value[from == 32 ? 2 : 3][0];
		b = node->value[0][0];
		join_groups(s, a, b, 0);
		for (uint16_t v = 0; v < s->v.n; v++)
			if (s->v.same[v] == before.same[b])
				s->v.same[v] = before.same[a];
		node->removed = !s->failed && !has_collision(&s->v);
		if (!node->removed)
			s->v = before;
		s->failed = false;
	}
}

static bool reads(const struct schedule *s, const struct node *node, uint16_t v)
{
	for (unsigned o = 1; o < SASS_OPERANDS; o++)
		for (unsigned k = 0; k < node->n[o]; k++)
			if (s->v.same[node->value[o][k]] == v)
				return true;
	for (unsigned f = 0; f < SASS_P_OUT; f++)
		if (node->predicate[f] != NONE && s->v.same[node->predicate[f]] == v)
			return true;
	return false;
}

static bool is_read(const struct schedule *s, uint16_t v)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->nodes[i].removed && reads(s, &s->nodes[i], s->v.same[v]))
			return true;
	return false;
}

/* Removes instructions whose results are dead, and dead predicates of others. */
static void drop_dead(struct schedule *s)
{
	for (uint32_t i = s->n; i--;) {
		struct node *node = &s->nodes[i];
		bool used = node->ordered || node->removed || node->stays;

		for (unsigned k = 0; k < node->n[0]; k++)
			used |= is_read(s, node->value[0][k]);
		for (unsigned f = SASS_P_OUT; f < SASS_PREDICATE_FIELDS; f++) {
			bool read = node->predicate[f] != NONE && is_read(s, node->predicate[f]);

			used |= read;
			node->predicate[f] = read ? node->predicate[f] : NONE;
		}
		node->removed |= !used;
	}
}

/* Lanes that would exit before the last stores of others skip these stores instead. Then no lane waits for another. */
static void predicate_early_exit(struct schedule *s)
{
	struct node *end = NULL;

	for (uint32_t i = 0; i + 1 < s->n; i++) {
		struct node *node = &s->nodes[i];
		enum sass_class class = sass_op_find(sass_opcode(node->insn))->class;

		if (node->removed)
			continue;
		if (class == SASS_EXIT && end)
			return;
		if (class == SASS_EXIT)
			end = node;
		else if (end && node->ordered && !sass_reads_clock(node->insn) &&
			 ((class != SASS_STORE && class != SASS_LOAD) || node->predicate[SASS_P_GUARD] != NONE))
			return;
	}
	if (!end)
		return;
	for (struct node *node = end + 1; node + 1 < s->nodes + s->n; node++) {
		if (!node->ordered || sass_reads_clock(node->insn))
			continue;
		node->predicate[SASS_P_GUARD] = end->predicate[SASS_P_GUARD];
		node->insn = sass_with_field(node->insn, 15, 1, !sass_field(end->insn, 15, 1));
	}
	end->removed = true;
}

/* -- the order -- */

/* Fixed latency of a result: the longest that compilers allow on any architecture. */
static unsigned result_time(const struct schedule *s, const struct node *writer, const struct node *reader)
{
	switch (sass_opcode(writer->insn) & 0x1ff) {
	case 0x005: /* CS2R */
		return s->arch->sm < 90 ? MAX_FIXED_CYCLES : 10;
	case 0x031: case 0x035: /* HFMA2 */
		return 10;
	default:
		return reader->slow ? 8 : 6;
	}
}

static unsigned predicate_time(const struct schedule *s, const struct node *writer, const struct node *reader,
			       unsigned field)
{
	uint32_t of = sass_opcode(writer->insn) & 0x1ff, by = sass_opcode(reader->insn) & 0x1ff;
	bool sum = (of == 0x010 || of == 0x011) && (by == 0x010 || by == 0x011 || by == 0x024);

	if (field && sum)
		return 6;
	return field && s->arch->sm >= 90 ? 8 : sass_predicate_cycles(writer->insn);
}

/* An estimate, since the latency of slow instructions varies. */
static unsigned slow_time(const struct node *node)
{
	switch (sass_op_find(sass_opcode(node->insn))->class) {
	case SASS_LOAD: case SASS_STORE:
		return 600;
	default:
		return (sass_opcode(node->insn) & 0x1ff) < 0x110 ? 18 : 30;
	}
}

/* Cycles that must pass from a to the later b, 0 if none. With `real`, slow instructions count without estimates. */
static unsigned distance(const struct schedule *s, const struct node *a, const struct node *b, bool real)
{
	bool clock = sass_reads_clock(a->insn) || sass_reads_clock(b->insn);
	bool end = sass_opcode(a->insn) == SASS_OP_EXIT || sass_opcode(b->insn) == SASS_OP_EXIT;
	bool last = b == &s->nodes[s->n - 1];
	unsigned most = last || (a->ordered && b->ordered && !(clock && end)) ? 1 : 0;

	for (unsigned k = 0; k < a->n[0]; k++) {
		unsigned time = a->slow ? (real ? SCOREBOARD_CYCLES : slow_time(a)) : result_time(s, a, b);

		if (reads(s, b, s->v.same[a->value[0][k]]) && time > most)
			most = time;
	}
	for (unsigned out = SASS_P_OUT; out < SASS_PREDICATE_FIELDS; out++)
		for (unsigned in = 0; in < SASS_P_OUT; in++)
			if (a->predicate[out] != NONE && a->predicate[out] == b->predicate[in] &&
			    predicate_time(s, a, b, in) > most)
				most = predicate_time(s, a, b, in);
	return most;
}

static void find_heights(struct schedule *s)
{
	for (uint32_t i = s->n; i--;)
		for (uint32_t j = i + 1; j < s->n; j++) {
			unsigned d = s->nodes[i].removed || s->nodes[j].removed ? 0 : distance(s, &s->nodes[i], &s->nodes[j], false);

			s->latency[i][j] = d;
			if (d && s->nodes[j].height + d > s->nodes[i].height)
				s->nodes[i].height = s->nodes[j].height + d;
		}
}

/* The first cycle in which the node can begin, as far as known; UINT32_MAX: a node before it has not begun. */
static uint32_t ready_at(const struct schedule *s, const uint32_t *began, uint32_t j)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < j; i++) {
		unsigned d = s->latency[i][j];

		if (d && began[i] == UINT32_MAX)
			return UINT32_MAX;
		if (d && began[i] + d > at)
			at = began[i] + d;
	}
	return at;
}

/* Prefers the longer path to the end. A read of the clock goes first: its latency is fixed and passes while other
 * results are outstanding. */
static bool is_first(const struct schedule *s, uint32_t a, uint32_t b)
{
	bool clock = sass_reads_clock(s->nodes[a].insn);

	return clock != sass_reads_clock(s->nodes[b].insn) ? clock : s->nodes[a].height > s->nodes[b].height;
}

/* The node that can begin now and has the longest path to the end; else the node that can begin soonest. */
static uint32_t choose_node(const struct schedule *s, const uint32_t *began, uint32_t now, uint32_t *when)
{
	uint32_t best = SASS_STRAIGHT_MAX_INSNS, best_at = UINT32_MAX;

	for (uint32_t j = 0; j < s->n; j++) {
		uint32_t at = s->nodes[j].removed || began[j] != UINT32_MAX ? UINT32_MAX : ready_at(s, began, j);

		if (at == UINT32_MAX)
			continue;
		at = at < now ? now : at;
		if (best == SASS_STRAIGHT_MAX_INSNS || at < best_at || (at == best_at && is_first(s, j, best))) {
			best = j;
			best_at = at;
		}
	}
	*when = best_at;
	return best;
}

static void find_order(struct schedule *s)
{
	uint32_t began[SASS_STRAIGHT_MAX_INSNS], now = 0, j;

	memset(began, 0xff, sizeof(began));
	find_heights(s);
	while ((j = choose_node(s, began, now, &now)) < SASS_STRAIGHT_MAX_INSNS) {
		began[j] = now++;
		s->order[s->norder++] = j;
	}
}

static struct node *at(struct schedule *s, uint32_t index)
{
	return &s->nodes[s->order[index]];
}

/* -- registers -- */

static void find_groups(struct schedule *s)
{
	int8_t low[MAX_VALUES];

	memset(low, 0x7f, sizeof(low));
	for (uint16_t v = 0; v < s->v.n; v++)
		if (s->v.at[v] < low[s->v.group[v]])
			low[s->v.group[v]] = s->v.at[v];
	for (uint16_t v = 0; v < s->v.n; v++) {
		s->v.at[v] -= low[s->v.group[v]];
		s->failed |= s->v.at[v] > 3;
		s->wide[v] = 1;
	}
	for (uint32_t i = 0; i < s->norder; i++)
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			uint16_t first = at(s, i)->value[o][0];
			unsigned n = at(s, i)->n[o];

			if (!n)
				continue;
			s->failed |= n == 3 || s->v.at[first] % n;
			if (n > s->wide[s->v.group[first]])
				s->wide[s->v.group[first]] = n;
		}
}

static bool uses(const struct schedule *s, const struct node *node, uint16_t group)
{
	for (unsigned o = 0; o < SASS_OPERANDS; o++)
		for (unsigned k = 0; k < node->n[o]; k++)
			if (s->v.group[node->value[o][k]] == group)
				return true;
	return false;
}

static bool uses_result(const struct schedule *s, const struct node *node, uint16_t group)
{
	return node->n[0] && s->v.group[node->value[0][0]] == group;
}

/* The position after which no instruction reads or writes the group, even after issue. Slow instructions have been
 * waited for, and computed values have been read. UINT32_MAX: there is none. */
static uint32_t free_position(struct schedule *s, uint16_t group)
{
	uint32_t over = 0;

	for (uint32_t i = 0; i < s->norder; i++) {
		struct node *node = at(s, i);

		if (!uses(s, node, group))
			continue;
		if (node->slow && !node->waited)
			return UINT32_MAX;
		over = node->slow && node->waited > i ? (node->waited > over ? node->waited : over) : i > over ? i : over;
	}
	for (uint16_t v = 0; v < s->v.n; v++)
		if (s->v.group[v] == group && !is_read(s, v))
			return UINT32_MAX;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->nodes[i].stays && uses_result(s, &s->nodes[i], group))
			return UINT32_MAX;
	return over;
}

static void measure_groups(struct schedule *s)
{
	for (uint16_t v = 0; v < s->v.n; v++) {
		uint16_t g = s->v.group[v];

		if (s->v.at[v] + 1 > s->size[g])
			s->size[g] = s->v.at[v] + 1;
		s->free_at[v] = g == v ? free_position(s, g) : 0;
	}
}

static bool is_free_at(const struct schedule *s, unsigned reg, unsigned size, uint32_t index, const bool *placed)
{
	for (uint16_t g = 0; g < s->v.n; g++)
		if (placed[g] && s->reg[g] < reg + size && reg < (unsigned)s->reg[g] + s->size[g] && s->free_at[g] >= index)
			return false;
	return true;
}

/* Known results have fixed registers. */
static void place_known(struct schedule *s, const struct sass_pinned_results *lasting, bool *placed)
{
	for (uint32_t i = 0; lasting && i < s->n; i++) {
		struct node *node = &s->nodes[i];
		uint16_t g = node->n[0] ? s->v.group[node->value[0][0]] : 0;
		int reg = node->known && is_known_and_read(s, node) ? lasting->at[node->index] - s->v.at[node->value[0][0]] : -1;

		if (!node->known || !is_known_and_read(s, node))
			continue;
		s->failed |= reg < 0 || reg % s->wide[g] || (placed[g] ? s->reg[g] != reg : !is_free_at(s, reg, s->size[g], 0, placed));
		s->reg[g] = reg < 0 ? 0 : reg;
		placed[g] = true;
		s->regs = reg + s->size[g] > (int)s->regs ? (uint32_t)reg + s->size[g] : s->regs;
	}
}

static void alloc_registers(struct schedule *s, const struct sass_pinned_results *lasting)
{
	bool placed[MAX_VALUES] = { false };

	place_known(s, lasting, placed);
	for (uint32_t i = 0; i < s->norder; i++)
		for (unsigned o = 0; o < SASS_OPERANDS; o++) {
			uint16_t g = s->v.group[at(s, i)->value[o][0]];
			unsigned size = s->size[g], reg = 0;

			if (!at(s, i)->n[o] || placed[g])
				continue;
			while (reg + size < SASS_RZ && !is_free_at(s, reg, size, i, placed))
				reg += s->wide[g];
			s->reg[g] = reg;
			placed[g] = true;
			if (reg + size > s->regs)
				s->regs = reg + size;
		}
}

/* Allocates predicates round robin, so that a write completes long before the next write of the same predicate. */
static void alloc_predicates(struct schedule *s)
{
	uint16_t held[PREDICATES];
	unsigned next = 0;

	memset(held, 0xff, sizeof(held));
	for (uint32_t i = 0; i < s->norder; i++)
		for (unsigned f = SASS_P_OUT; f < SASS_PREDICATE_FIELDS; f++) {
			uint16_t v = at(s, i)->predicate[f];
			unsigned tried = 0;

			if (v == NONE)
				continue;
			for (; tried < PREDICATES; tried++, next = (next + 1) % PREDICATES)
				if (held[next] == NONE || s->last[held[next]] < i)
					break;
			s->failed |= tried == PREDICATES;
			held[next] = v;
			s->reg[v] = next;
			next = (next + 1) % PREDICATES;
		}
}

static void find_last(struct schedule *s)
{
	for (uint32_t i = 0; i < s->norder; i++)
		for (unsigned f = 0; f < SASS_PREDICATE_FIELDS; f++)
			if (at(s, i)->predicate[f] != NONE)
				s->last[at(s, i)->predicate[f]] = i;
}

/* -- control -- */

static bool depends_on(const struct schedule *s, const struct node *reader, const struct node *writer)
{
	for (unsigned k = 0; k < writer->n[0]; k++)
		if (reads(s, reader, s->v.same[writer->value[0][k]]))
			return true;
	return false;
}

/* Results that the same instruction reads first share a scoreboard. */
static void assign_boards(struct schedule *s)
{
	unsigned boards = 0;

	for (uint32_t i = 0; i < s->norder; i++)
		at(s, i)->board = SASS_NO_SCOREBOARD;
	for (uint32_t j = 1; j < s->norder; j++) {
		bool any = false;

		for (uint32_t i = 0; i < j; i++) {
			struct node *writer = at(s, i);

			if (!writer->slow || writer->waited || !depends_on(s, at(s, j), writer))
				continue;
			writer->waited = j;
			writer->board = boards % SASS_SCOREBOARDS;
			any = true;
		}
		boards += any;
	}
}

static unsigned waits_of(struct schedule *s, uint32_t index)
{
	unsigned waits = 0;

	for (uint32_t i = 0; i < index; i++)
		if (at(s, i)->waited == index && at(s, i)->board != SASS_NO_SCOREBOARD)
			waits |= 1u << at(s, i)->board;
	return waits;
}

/* The earliest cycle in which it begins, if the instructions before it begin as early as they can. */
static uint32_t start_cycle(struct schedule *s, const uint32_t *began, uint32_t index)
{
	uint32_t time = index ? began[index - 1] + 1 : 0;

	for (uint32_t i = 0; i < index; i++) {
		struct node *a = at(s, i), *b = at(s, index);
		unsigned d = a < b ? distance(s, a, b, true) : 0;

		if (d && began[i] + d > time)
			time = began[i] + d;
	}
	return time;
}

static struct sass_insn encode_node(const struct schedule *s, const struct node *node)
{
	struct sass_insn insn = sass_with_field(node->insn, SASS_REUSE_AT, 4, 0);
	int fields = sass_predicate_fields(insn);

	for (unsigned o = 0; o < SASS_OPERANDS; o++)
		if (node->n[o])
			insn = sass_with_field(insn, sass_operand_at[o], 8,
					 s->reg[s->v.group[node->value[o][0]]] + s->v.at[node->value[o][0]]);
	for (unsigned f = 0; f < SASS_PREDICATE_FIELDS; f++)
		if (fields >> f & 1 && (node->predicate[f] != NONE || sass_field(insn, sass_predicate_at[f], 3) != SASS_PT))
			insn = sass_with_field(insn, sass_predicate_at[f], 3,
					 node->predicate[f] != NONE ? s->reg[node->predicate[f]] : SASS_PT);
	return insn;
}

static void encode_all(struct schedule *s, struct sass_insn *to)
{
	uint32_t began[SASS_STRAIGHT_MAX_INSNS + 1];

	for (uint32_t i = 0; i < s->norder; i++)
		began[i] = start_cycle(s, began, i);
	for (uint32_t i = 0; i < s->norder; i++) {
		unsigned stall = i + 1 < s->norder ? began[i + 1] - began[i] : 5;

		s->failed |= stall > SASS_STALL_MAX;
		to[i] = sass_with_control(encode_node(s, at(s, i)), waits_of(s, i), stall);
		to[i] = sass_with_field(to[i], SASS_YIELD_AT, 1, stall < 4);
		to[i] = sass_with_field(to[i], SASS_WRITE_AT, 3, at(s, i)->board);
	}
}

/* -- entry points -- */

static void run_passes(struct schedule *s, struct sass_insn *to, const struct sass_pinned_results *lasting)
{
	join_copies(s);
	predicate_early_exit(s);
	drop_dead(s);
	find_order(s);
	assign_boards(s);
	find_groups(s);
	find_last(s);
	if (s->failed)
		return;
	measure_groups(s);
	alloc_registers(s, lasting);
	alloc_predicates(s);
	encode_all(s, to);
}

/* NULL: no memory. */
static struct schedule *open_schedule(const struct sass_arch *arch, const struct sass_probe *probe)
{
	struct schedule *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->arch = arch;
	s->failed = !is_straight(probe);
	if (!s->failed)
		build_nodes(s, probe);
	return s;
}

static void store_result(struct schedule *s, struct sass_probe *probe, const struct sass_insn *to)
{
	memcpy(probe->insns, to, s->norder * sizeof(*to));
	probe->n = s->norder;
}

int sass_schedule(const struct sass_arch *arch, struct sass_probe *probe)
{
	struct sass_insn *to = calloc(probe->n + 1, sizeof(*to));
	struct schedule *s = open_schedule(arch, probe);
	int err = s && to ? 0 : -ENOMEM;

	if (!err && !s->failed)
		run_passes(s, to, NULL);
	if (!err && !s->failed && s->regs <= probe->regs && sass_is_equivalent(probe->insns, probe->n, to, s->norder))
		store_result(s, probe, to);
	free(to);
	free(s);
	return err;
}

int sass_schedule_find_read(const struct sass_arch *arch, const struct sass_probe *probe, const struct sass_pinned_results *lasting,
			bool wanted[SASS_STRAIGHT_MAX_INSNS])
{
	struct schedule *s = open_schedule(arch, probe);

	if (!s)
		return -ENOMEM;
	memset(wanted, 0, SASS_STRAIGHT_MAX_INSNS * sizeof(*wanted));
	if (!s->failed)
		apply_known(s, lasting);
	for (uint32_t i = 0; !s->failed && i < s->n; i++)
		wanted[s->nodes[i].index] = is_known_and_read(s, &s->nodes[i]);
	free(s);
	return 0;
}

/* Reports the registers of the results that stay. */
static void report_registers(const struct schedule *s, struct sass_pinned_results *lasting)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct node *node = &s->nodes[i];

		if (node->stays)
			lasting->at[node->index] = s->reg[s->v.group[node->value[0][0]]] + s->v.at[node->value[0][0]];
	}
}

int sass_schedule_pinned(const struct sass_arch *arch, struct sass_probe *probe, struct sass_pinned_results *lasting)
{
	struct sass_insn *to = calloc(probe->n + 1, sizeof(*to));
	struct schedule *s = open_schedule(arch, probe);
	int err = s && to ? 0 : -ENOMEM;

	if (!err && !s->failed) {
		for (uint32_t i = 0; i < s->n; i++)
			s->nodes[i].stays = lasting->stays[s->nodes[i].index];
		apply_known(s, lasting);
		run_passes(s, to, lasting);
		report_registers(s, lasting);
	}
	if (!err)
		err = s->failed ? -EINVAL : 0;
	if (!err)
		store_result(s, probe, to);
	free(to);
	free(s);
	return err;
}
