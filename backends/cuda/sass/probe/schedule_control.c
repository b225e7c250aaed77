/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns scoreboards, waits and stalls to a scheduled probe, and encodes its instructions. */
#include "schedule_work.h"

static bool depends_on(const struct schedule *s, const struct node *reader, const struct node *writer)
{
	for (unsigned k = 0; k < writer->n[0]; k++)
		if (sass_schedule_reads(s, reader, s->v.same[writer->value[0][k]]))
			return true;
	return false;
}

/* Assigns scoreboards round robin. Slow results share a scoreboard if the same instruction is their first reader. */
void sass_schedule_assign_boards(struct schedule *s)
{
	unsigned boards = 0;

	for (uint32_t i = 0; i < s->norder; i++)
		node_at(s, i)->board = SASS_NO_SCOREBOARD;
	for (uint32_t j = 1; j < s->norder; j++) {
		bool any = false;

		for (uint32_t i = 0; i < j; i++) {
			struct node *writer = node_at(s, i);

			if (!writer->slow || writer->first_wait || !depends_on(s, node_at(s, j), writer))
				continue;
			writer->first_wait = j;
			writer->board = boards % SASS_SCOREBOARDS;
			any = true;
		}
		boards += any;
	}
}

static unsigned find_waits(struct schedule *s, uint32_t index)
{
	unsigned waits = 0;

	for (uint32_t i = 0; i < index; i++)
		if (node_at(s, i)->first_wait == index && node_at(s, i)->board != SASS_NO_SCOREBOARD)
			waits |= 1u << node_at(s, i)->board;
	return waits;
}

/* Returns the earliest cycle in which the instruction at position `index` can begin. began[] has the cycles in which
 * the instructions before it begin. */
static uint32_t start_cycle(struct schedule *s, const uint32_t *began, uint32_t index)
{
	uint32_t time = index ? began[index - 1] + 1 : 0;

	for (uint32_t i = 0; i < index; i++) {
		struct node *a = node_at(s, i), *b = node_at(s, index);
		unsigned d = a < b ? sass_schedule_distance(s, a, b, true) : 0;

		if (d && began[i] + d > time)
			time = began[i] + d;
	}
	return time;
}

static struct sass_insn encode_node(const struct schedule *s, const struct node *node)
{
	struct sass_insn insn = sass_with_reuse(node->insn, 0);
	int fields = sass_predicate_fields(insn);

	for (unsigned o = 0; o < SASS_OPERANDS; o++)
		if (node->n[o])
			insn = sass_with_reg(insn, o, s->coloring.reg[node->value[o][0]]);
	for (unsigned f = 0; f < SASS_PREDICATE_FIELDS; f++)
		if (fields >> f & 1 && (node->predicate[f] != NONE || sass_predicate(insn, f) != SASS_PT))
			insn = sass_with_predicate(insn, f,
						   node->predicate[f] != NONE ? s->predicate[node->predicate[f]] : SASS_PT);
	return insn;
}

void sass_schedule_encode(struct schedule *s, struct sass_insn *to)
{
	uint32_t began[SASS_STRAIGHT_MAX_INSNS + 1];

	for (uint32_t i = 0; i < s->norder; i++)
		began[i] = start_cycle(s, began, i);
	for (uint32_t i = 0; i < s->norder; i++) {
		unsigned stall = i + 1 < s->norder ? began[i + 1] - began[i] : 5;

		s->failed |= stall > SASS_STALL_MAX;
		to[i] = sass_with_control(encode_node(s, node_at(s, i)), find_waits(s, i), stall);
		to[i] = sass_with_yield(to[i], stall < 4);
		to[i] = sass_with_write_board(to[i], node_at(s, i)->board);
	}
}
