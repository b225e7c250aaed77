/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass: checks that a probe waits for its own operations in flight. An instruction reads a register only when the write
 * of the register is complete. An instruction writes a register only when earlier instructions have read it. A wait for
 * a scoreboard, or the in-order execution of a unit, proves this.
 */
#include "work.h"

#define MAX_SETTERS 4 /* maximum number of operations recorded per scoreboard. Instructions with other operations
                       * count as pending even after a wait. */

/* The pending writes, or the pending reads, of each register r. The element boards[r] has their scoreboards as bits,
 * by[r] their unit, and at[r] the index of the last of these instructions. */
struct pending_kind {
	uint8_t boards[256];
	uint16_t by[256];
	uint32_t at[256];
	bool earlier[256]; /* an instruction before `at` is also pending on the register */
	bool mixed[256];   /* pending instructions on the register belong to different units */
	bool loads[256];   /* all pending instructions on the register are loads */
	/* setter[b]: for each operation, the last instruction that set scoreboard b since the last wait for b; 0: none */
	uint32_t setter[SASS_SCOREBOARDS][MAX_SETTERS];
};

struct pending {
	struct pending_kind written, read;
	unsigned top; /* one above the highest register in use; 0: nothing is pending */
};

/* The number of the unit of memory accesses. This unit reads registers in order: compilers overwrite the register
 * that an STL stores once a later LDL has returned. Other units have the number of their operation. */
#define ACCESS_UNIT SASS_OPERATIONS

static uint16_t get_unit(struct sass_insn insn)
{
	switch (insn.opcode % SASS_OPERATIONS) {
	case SASS_OPERATION_LD:
	case SASS_OPERATION_LDG:
	case SASS_OPERATION_LDL:
	case SASS_OPERATION_LDS:
	case SASS_OPERATION_ST:
	case SASS_OPERATION_STG:
	case SASS_OPERATION_STL:
	case SASS_OPERATION_STS:
	case SASS_OPERATION_ATOM:
	case SASS_OPERATION_ATOM_CAS:
	case SASS_OPERATION_ATOMS:
	case SASS_OPERATION_ATOMS_CAST:
	case SASS_OPERATION_RED:
	case SASS_OPERATION_ATOM_F:
	case SASS_OPERATION_ATOMG_F:
	case SASS_OPERATION_LDGMC_INT:
	case SASS_OPERATION_LDGMC:
	case SASS_OPERATION_RED_F:
	case SASS_OPERATION_SYNCS:
	case SASS_OPERATION_ATOMG:
	case SASS_OPERATION_ATOMG_CAS:
		return ACCESS_UNIT;
	default:
		return insn.opcode % SASS_OPERATIONS;
	}
}

static bool is_load(struct sass_insn insn)
{
	switch (insn.opcode % SASS_OPERATIONS) {
	case SASS_OPERATION_LD:
	case SASS_OPERATION_LDG:
	case SASS_OPERATION_LDL:
	case SASS_OPERATION_LDS:
		return true;
	default:
		return false;
	}
}

/* Records that operation `setter` of unit `by` is complete. The unit works in order, so this also completes all
 * earlier operations of the unit. */
static void complete_unit(struct pending_kind *p, unsigned top, uint32_t setter, uint16_t by)
{
	for (unsigned r = 0; r < top; r++)
		if (p->boards[r] && p->by[r] == by && !p->mixed[r] && p->at[r] <= setter)
			p->boards[r] = 0;
}

/* Records that `setter` has written its result, which a wait has proved. Loads may write their results out of order.
 * But the access unit reads registers in order, so all earlier accesses have read their registers. */
static void complete_after_write(struct checked *c, struct pending *p, uint32_t setter)
{
	struct sass_insn insn = insn_at(c, setter);

	if (sass_op(insn)->class == SASS_SLOW)
		complete_unit(&p->written, p->top, setter, insn.opcode % SASS_OPERATIONS);
	if (get_unit(insn) == ACCESS_UNIT && insn.guard == SASS_PT)
		complete_unit(&p->read, p->top, setter, ACCESS_UNIT);
}

/* Completes the reads of instructions whose write scoreboard a wait has covered. Such an instruction has read its
 * sources. */
static void complete_reads(struct checked *c, struct pending_kind *read, unsigned top, unsigned boards)
{
	for (unsigned r = 0; r < top; r++)
		if (read->boards[r] && !read->earlier[r] && boards >> sass_write_board(insn_at(c, read->at[r])) & 1)
			read->boards[r] = 0;
}

static void apply_waits(struct checked *c, struct pending *p, unsigned boards)
{
	if (!boards || !p->top)
		return;
	complete_reads(c, &p->read, p->top, boards);
	for (unsigned b = 0; b < SASS_SCOREBOARDS; b++)
		for (unsigned k = 0; boards >> b & 1 && k < MAX_SETTERS; k++) {
			uint32_t writer = p->written.setter[b][k], reader = p->read.setter[b][k];

			if (writer)
				complete_after_write(c, p, writer);
			if (reader)
				complete_unit(&p->read, p->top, reader, get_unit(insn_at(c, reader)));
			p->written.setter[b][k] = p->read.setter[b][k] = 0;
		}
	for (unsigned r = 0; r < p->top; r++) {
		p->written.boards[r] &= ~boards;
		p->read.boards[r] &= ~boards;
	}
}

/* Records that instruction i sets the scoreboard. A scoreboard is a counter: a wait ends only when all instructions
 * that set it are complete. */
static void record_setter(struct checked *c, struct pending_kind *kind, unsigned board, uint32_t i)
{
	uint32_t *setter = kind->setter[board], operation = insn_at(c, i).opcode % SASS_OPERATIONS;

	for (unsigned k = 0; k < MAX_SETTERS; k++)
		if (!setter[k] || (insn_at(c, setter[k]).opcode % SASS_OPERATIONS) == operation) {
			setter[k] = i;
			return;
		}
}

static void record_operand(struct checked *c, struct pending *p, const struct sass_operand *x, struct sass_insn insn,
			   uint32_t i)
{
	struct pending_kind *kind = x->written ? &p->written : &p->read;
	unsigned board = x->written ? sass_write_board(insn) : sass_read_board(insn);
	uint16_t by = x->written ? insn.opcode % SASS_OPERATIONS : get_unit(insn);

	for (unsigned r = x->reg; board < SASS_SCOREBOARDS && r < (unsigned)x->reg + x->n && r < 256; r++) {
		kind->loads[r] = is_load(insn) && (!kind->boards[r] || kind->loads[r]);
		kind->earlier[r] = kind->boards[r];
		kind->mixed[r] = kind->boards[r] && (kind->mixed[r] || kind->by[r] != by);
		kind->boards[r] |= 1u << board;
		kind->by[r] = by;
		kind->at[r] = i;
		record_setter(c, kind, board, i);
		p->top = r < p->top ? p->top : r + 1;
	}
}

/* Do the two instructions execute for disjoint sets of lanes? They do if they have opposite guards and no
 * instruction between them writes the guard's predicate. */
static bool excludes(const struct checked *c, uint32_t earlier, uint32_t i)
{
	uint32_t guard = insn_at(c, earlier).guard;

	if ((guard & 7) == SASS_PT || insn_at(c, i).guard != (guard ^ 8))
		return false;
	for (uint32_t k = earlier; k < i; k++)
		if (sass_predicates_written(insn_at(c, k)) >> (guard & 7) & 1)
			return false;
	return true;
}

/* Returns true if the in-order unit guarantees that pending reads of the register end before insn writes it. A slow
 * unit, such as the unit of SHFL, reads the sources of earlier operations first. Among memory accesses only a load
 * after loads has this guarantee. Compilers rely on it: they load into the address register of earlier loads. */
static bool is_ordered_after(const struct pending_kind *read, unsigned reg, struct sass_insn insn)
{
	if (get_unit(insn) == ACCESS_UNIT)
		return is_load(insn) && read->loads[reg];
	return sass_op(insn)->class == SASS_SLOW && read->by[reg] == get_unit(insn) && !read->mixed[reg];
}

static bool is_still_read(const struct checked *c, const struct pending_kind *read, unsigned reg, uint32_t i)
{
	return read->boards[reg] && !is_ordered_after(read, reg, insn_at(c, i)) &&
	       (read->earlier[reg] || !excludes(c, read->at[reg], i));
}

static int check_operands(struct checked *c, struct pending *p, uint32_t i)
{
	struct sass_insn insn = insn_at(c, i);
	struct sass_operand operands[SASS_OPERANDS];

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		const struct sass_operand *x = &operands[o];

		operands[o] = insn.operand[o];
		for (unsigned r = x->reg; r < (unsigned)x->reg + x->n && r < 256; r++)
			if (p->written.boards[r] || (x->written && is_still_read(c, &p->read, r, i)))
				return sass_check_fail(c, i, "a probe does not wait for its own operation on a register");
	}
	if (sass_boards_set(insn))
		for (unsigned o = 0; o < SASS_OPERANDS; o++)
			record_operand(c, p, &operands[o], insn, i);
	return 0;
}

static void clear_pending(struct pending *p)
{
	if (p->top)
		*p = (struct pending){ 0 };
}

/* Walks the added code in order. Nothing is pending after an unconditional jump and at the start of the entry probe.
 * A copy of a kernel instruction uses other registers than the probes, so only its waits count. The probe after the
 * copy must wait for operations of the probe before it. */
int sass_check_pending(struct checked *c)
{
	struct pending pending = { 0 };
	int err = 0;

	for (uint32_t i = c->first_added; !err && i < c->ninsns; i++) {
		struct sass_insn insn = insn_at(c, i);
		uint32_t opcode = sass_opcode(insn);

		if (i == c->entry)
			clear_pending(&pending);
		apply_waits(c, &pending, sass_wait_mask(insn));
		if (sass_check_is_moved(c, i))
			continue;
		err = check_operands(c, &pending, i);
		if ((opcode == SASS_OP_BRA || opcode == SASS_OP_EXIT) && sass_is_unconditional(insn))
			clear_pending(&pending);
	}
	return err;
}
