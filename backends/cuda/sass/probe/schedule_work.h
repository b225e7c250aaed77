/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the scheduler of straight-line probes: one probe and its schedule. */
#ifndef GPUBPF_SASS_SCHEDULE_WORK_H
#define GPUBPF_SASS_SCHEDULE_WORK_H

#include "coloring.h"
#include "schedule.h"

#define MAX_VALUES 320
#define NONE SASS_NO_VALUE
#define MAX_DISTANCE 7             /* largest distance of registers while groups are joined */
#define PREDICATES 7

struct node {
	struct sass_insn insn;
	uint16_t value[SASS_OPERANDS][4];
	uint8_t n[SASS_OPERANDS];
	uint16_t predicate[SASS_PREDICATE_FIELDS]; /* NONE: PT, or no predicate */
	uint32_t index;                            /* index in the original probe */
	bool removed, has_side_effect, slow;
	bool live_out, live_in; /* the members of struct sass_pinned_results for this instruction */
	uint32_t height;        /* estimated cycles from the node to the end of the probe */
	uint32_t first_wait;    /* position in the new order of the first wait for the node's scoreboard; 0: no
	                         * instruction waits for it */
	uint8_t board;
};

/* A value is the result of one instruction in one register or predicate. Values that must occupy consecutive registers
 * form a group. */
struct values {
	uint16_t group[MAX_VALUES], next[MAX_VALUES]; /* these three members are the arrays of s->groups */
	int16_t at[MAX_VALUES];
	uint16_t same[MAX_VALUES]; /* the value that this value copies; a value that is no copy has its own number */
	uint8_t writers[MAX_VALUES];
	uint16_t n;
};

struct schedule {
	const struct sass_arch *arch;
	struct node nodes[SASS_STRAIGHT_MAX_INSNS];
	uint16_t order[SASS_STRAIGHT_MAX_INSNS];
	uint32_t n, norder;
	struct values v;
	struct sass_groups groups;
	uint16_t latency[SASS_STRAIGHT_MAX_INSNS][SASS_STRAIGHT_MAX_INSNS]; /* estimated cycles from one instruction
	                                                                     * to a later instruction; 0: they are
	                                                                     * independent */
	struct sass_coloring coloring;                                      /* of the values in registers */
	uint8_t predicate[MAX_VALUES];                                      /* number of the predicate of a value */
	uint32_t first_use[MAX_VALUES]; /* position in the new order of the first use of a group; UINT32_MAX: none */
	uint32_t free_at[MAX_VALUES];   /* position in the new order after which the registers of a group can be
	                                   * reused; UINT32_MAX: never */
	uint32_t last[MAX_VALUES];      /* position in the new order of the last use of a predicate value */
	uint32_t regs;
	bool failed;
};

/* Returns the node at a position of the new order. */
static inline struct node *node_at(struct schedule *s, uint32_t index)
{
	return &s->nodes[s->order[index]];
}

/* -- nodes -- */
/* Is the probe straight-line code of known instructions, in which all lanes end at the last instruction or before? */
bool sass_schedule_is_straight(const struct sass_probe *p);
/* Makes nodes and values of the instructions of a probe. */
void sass_schedule_build_nodes(struct schedule *s, const struct sass_probe *p);
/* Do two different values of one group have the same register? */
bool sass_schedule_has_collision(const struct values *v);
/* Does the node read v or a copy of v? v itself must not be a copy (same[v] == v). The second function: does any
 * remaining node read v, or the value that v copies? */
bool sass_schedule_reads(const struct schedule *s, const struct node *node, uint16_t v);
bool sass_schedule_is_read(const struct schedule *s, uint16_t v);

/* -- removal of instructions -- */
/* Removes the nodes whose results `pinned` declares as `live_in`. Keeps such a node if another node reads a predicate
 * that it writes, because only registers keep their values between probes. */
void sass_schedule_apply_known(struct schedule *s, const struct sass_pinned_results *pinned);
/* Is the node `live_in`, and does a remaining node read one of its results? */
bool sass_schedule_is_known_and_read(const struct schedule *s, const struct node *node);
/* Removes copies, an early exit, and dead instructions. */
void sass_schedule_simplify(struct schedule *s);

/* -- the order -- */
/* Returns the minimum distance in cycles from node a to the later node b, or 0 if they are independent. If `real` is
 * true, this is the distance that stall counts must enforce; for a slow result, it ends when a wait sees its
 * scoreboard. Otherwise it is the estimated latency. */
unsigned sass_schedule_distance(const struct schedule *s, const struct node *a, const struct node *b, bool real);
/* Computes s->order. */
void sass_schedule_find_order(struct schedule *s);

/* -- registers -- */
/* Allocates registers to groups of values, and allocates predicates. `pinned` has the results with fixed registers,
 * or is NULL. Returns 0 or -ENOMEM. */
int sass_schedule_alloc_registers(struct schedule *s, const struct sass_pinned_results *pinned);

/* -- control bits -- */
/* Assigns scoreboards to slow nodes. */
void sass_schedule_assign_boards(struct schedule *s);
/* Writes the instructions in their new order, with their registers, stalls and waits. */
void sass_schedule_encode(struct schedule *s, struct sass_insn *to);

#endif
