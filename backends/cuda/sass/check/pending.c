/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass: a probe waits for its own operations in flight. An instruction reads a register only when the write of the
 * register is complete. It writes a register only when earlier instructions have read it. A wait for a scoreboard, or
 * the in-order execution of a unit, proves this.
 */
#include "work.h"

#define MAX_SETTERS 4 /* opcodes tracked per scoreboard; a wait proves nothing about instructions of further opcodes */

/* pending writes, or pending reads, by register: `boards` are their scoreboards, `by` the unit, `at` the last
 * instruction */
struct pending_kind {
	uint8_t boards[256];
	uint16_t by[256];
	uint32_t at[256];
	bool earlier[256]; /* an instruction before `at` is also pending on the register */
	bool mixed[256];   /* pending instructions on the register belong to different units */
	bool loads[256];   /* all pending instructions on the register are loads */
	uint32_t setter[SASS_SCOREBOARDS][MAX_SETTERS]; /* setter[b]: for each opcode, the last instruction that set
	                                                 * scoreboard b since the last wait for it; 0: none */
};

struct pending {
	struct pending_kind written, read;
	unsigned top; /* one above the highest register in use; 0: nothing is pending */
};

/* The number of the unit of memory accesses, which reads registers in order. (Compilers overwrite the register that
 * STL stores once a later LDL has returned.) Other units have the number of their operation. */
#define ACCESS_UNIT 0x200

static uint16_t unit_of(struct sass_insn insn)
{
	uint32_t operation = sass_opcode(insn) & 0x1ff;

	return operation >= 0x180 && operation <= 0x18e && operation != 0x182 /* LDC */ && operation != 0x189 /* SHFL */ ?
		       ACCESS_UNIT :
	       operation >= 0x1a2 && operation <= 0x1a9 ? ACCESS_UNIT :
							  operation;
}

static bool is_load(struct sass_insn insn)
{
	uint32_t operation = sass_opcode(insn) & 0x1ff;

	return operation == 0x180 || operation == 0x181 || operation == 0x183 || operation == 0x184; /* LD, LDG, LDL, LDS */
}

/* Operation `setter` of unit `by` is complete. Since a unit works in order, clears all earlier operations of that
 * unit. */
static void complete_unit(struct pending_kind *p, unsigned top, uint32_t setter, uint16_t by)
{
	for (unsigned r = 0; r < top; r++)
		if (p->boards[r] && p->by[r] == by && !p->mixed[r] && p->at[r] <= setter)
			p->boards[r] = 0;
}

/* A wait has shown that `setter` has written its result. Loads may write results out of order, but the access unit
 * reads registers in order, so earlier accesses have at least read theirs. */
static void complete_after_write(struct checked *c, struct pending *p, uint32_t setter)
{
	struct sass_insn insn = insn_at(c, setter);

	if (sass_op_find(sass_opcode(insn))->class == SASS_SLOW)
		complete_unit(&p->written, p->top, setter, sass_opcode(insn) & 0x1ff);
	if (unit_of(insn) == ACCESS_UNIT && sass_field(insn, 12, 4) == SASS_PT)
		complete_unit(&p->read, p->top, setter, ACCESS_UNIT);
}

/* After a wait for a write scoreboard, the instruction that set it has also read its sources. */
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
				complete_unit(&p->read, p->top, reader, unit_of(insn_at(c, reader)));
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
	uint32_t *setter = kind->setter[board], operation = sass_opcode(insn_at(c, i)) & 0x1ff;

	for (unsigned k = 0; k < MAX_SETTERS; k++)
		if (!setter[k] || (sass_opcode(insn_at(c, setter[k])) & 0x1ff) == operation) {
			setter[k] = i;
			return;
		}
}

static void record_operand(struct checked *c, struct pending *p, const struct sass_operand *x, struct sass_insn insn,
			   uint32_t i)
{
	struct pending_kind *kind = x->written ? &p->written : &p->read;
	unsigned board = x->written ? sass_write_board(insn) : sass_read_board(insn);
	uint16_t by = x->written ? sass_opcode(insn) & 0x1ff : unit_of(insn);

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

/* Do the two instructions execute for disjoint sets of lanes? They do if their guards are opposite and no
 * instruction between them writes the predicate. */
static bool excludes(const struct checked *c, uint32_t earlier, uint32_t i)
{
	uint32_t guard = sass_field(insn_at(c, earlier), 12, 4);

	if ((guard & 7) == SASS_PT || sass_field(insn_at(c, i), 12, 4) != (guard ^ 8))
		return false;
	for (uint32_t k = earlier; k < i; k++)
		if (sass_predicates_written(insn_at(c, k)) >> (guard & 7) & 1)
			return false;
	return true;
}

/* Does the in-order unit guarantee that pending reads of the register end before insn writes it? A slow unit, such
 * as that of SHFL, reads the sources of earlier operations first. Among memory accesses only a load after loads is
 * ordered like this: compilers load into the address register of earlier loads. */
static bool is_ordered_after(const struct pending_kind *read, unsigned reg, struct sass_insn insn)
{
	if (unit_of(insn) == ACCESS_UNIT)
		return is_load(insn) && read->loads[reg];
	return sass_op_find(sass_opcode(insn))->class == SASS_SLOW && read->by[reg] == unit_of(insn) && !read->mixed[reg];
}

static bool is_still_read(const struct checked *c, const struct pending_kind *read, unsigned reg, uint32_t i)
{
	return read->boards[reg] && !is_ordered_after(read, reg, insn_at(c, i)) &&
	       (read->earlier[reg] || !excludes(c, read->at[reg], i));
}

static int check_operands(struct checked *c, struct pending *p, uint32_t i)
{
	struct sass_insn insn = insn_at(c, i);
	const struct sass_form *form = sass_form_find(sass_opcode(insn));
	struct sass_operand operands[SASS_OPERANDS];

	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		const struct sass_operand *x = &operands[o];

		operands[o] = sass_operand(form, insn, o);
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

/* Walks the added code in order. After an unconditional jump, at the entry probe and at a copy of a kernel
 * instruction nothing is known to be pending. */
int sass_check_pending(struct checked *c)
{
	struct pending pending = { 0 };
	int err = 0;

	for (uint32_t i = c->first_added; !err && i < c->ninsns; i++) {
		struct sass_insn insn = insn_at(c, i);
		uint32_t opcode = sass_opcode(insn);

		bool moved = sass_check_is_moved(c, i);

		if (moved || i == c->entry)
			clear_pending(&pending);
		if (moved)
			continue;
		apply_waits(c, &pending, sass_wait_mask(insn));
		err = check_operands(c, &pending, i);
		if ((opcode == SASS_OP_BRA || opcode == SASS_OP_EXIT) && sass_is_unconditional(insn))
			clear_pending(&pending);
	}
	return err;
}
