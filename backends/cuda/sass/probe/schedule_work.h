/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the scheduler of straight-line probes: one probe and its schedule. */
#ifndef GPUBPF_SASS_SCHEDULE_WORK_H
#define GPUBPF_SASS_SCHEDULE_WORK_H

#include "schedule.h"

#define MAX_VALUES 320
#define NONE UINT16_MAX
#define PREDICATES 7

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

/* The node at a position of the new order. */
static inline struct node *node_at(struct schedule *s, uint32_t index)
{
	return &s->nodes[s->order[index]];
}

/* -- nodes -- */
/* Is this straight-line code of known instructions, in which all lanes end at the last one at the latest? */
bool sass_schedule_is_straight(const struct sass_probe *p);
/* Makes nodes and values of a probe's instructions. */
void sass_schedule_build_nodes(struct schedule *s, const struct sass_probe *p);
/* Places value b `off` registers after a in one group. */
void sass_schedule_join_groups(struct schedule *s, uint16_t a, uint16_t b, int off);
/* Do two different values have one register? */
bool sass_schedule_has_collision(const struct values *v);
/* Does the node read value v, which copies no other? Does any node read v or the value that it copies? */
bool sass_schedule_reads(const struct schedule *s, const struct node *node, uint16_t v);
bool sass_schedule_is_read(const struct schedule *s, uint16_t v);

/* -- fewer instructions -- */
/* Known results are not computed, unless an instruction reads a predicate that the same instruction writes: predicates
 * are in no register. */
void sass_schedule_apply_known(struct schedule *s, const struct sass_pinned_results *lasting);
bool sass_schedule_is_known_and_read(const struct schedule *s, const struct node *node);
/* Removes copies, an early exit, and dead instructions. */
void sass_schedule_simplify(struct schedule *s);

/* -- the order -- */
/* Cycles that must pass from a to the later b, 0 if none. With `real`, slow instructions count without estimates. */
unsigned sass_schedule_distance(const struct schedule *s, const struct node *a, const struct node *b, bool real);
/* Sets s->order. */
void sass_schedule_find_order(struct schedule *s);

/* -- registers -- */
/* Measures groups of values and allocates registers and predicates. lasting: NULL, or the known results. */
void sass_schedule_alloc_registers(struct schedule *s, const struct sass_pinned_results *lasting);

/* -- control bits -- */
/* Assigns scoreboards to slow nodes. */
void sass_schedule_assign_boards(struct schedule *s);
/* Writes the instructions in their order, with their registers, stalls and waits. */
void sass_schedule_encode(struct schedule *s, struct sass_insn *to);

#endif
