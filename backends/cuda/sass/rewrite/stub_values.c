/* SPDX-License-Identifier: Apache-2.0 */
/* Place values that the bodies of probes read: allocates their registers and emits the code that loads them. */
#include "stub_work.h"

#include "backends/cuda/sass/isa/operands.h"

/* -- registers -- */

/* mem.addr and mem.offset share registers. In global memory they are equal. An access to shared or local memory
 * (`near`) has only an offset. */
static enum sass_input shared_value(enum sass_input value)
{
	return value == SASS_INPUT_OFFSET ? SASS_INPUT_ADDRESS : value;
}

uint32_t sass_stub_assign_value_regs(const struct sass_insn_probes *insn_probes, uint32_t at,
				     uint32_t value_reg[SASS_NINPUTS])
{
	uint32_t read = 0;

	for (uint32_t i = 0; i < insn_probes->n; i++)
		read |= insn_probes->list[i].body->place_values;
	for (enum sass_input g = 0; g < SASS_NINPUTS; g++)
		if (read >> g & 1 && shared_value(g) != g)
			read |= 1u << shared_value(g);
	for (enum sass_input g = 0; g < SASS_NINPUTS; g++) {
		value_reg[g] = at;
		at += read >> g & 1 && sass_input_is_per_lane(g) && shared_value(g) == g ? 2 : 0;
	}
	return at;
}

uint32_t sass_stub_value_reg(const struct stub_writer *p, enum sass_input value)
{
	return p->value_reg[shared_value(value)];
}

static void emit_address(struct stub_writer *p, const struct sass_access *a)
{
	uint32_t to = sass_stub_value_reg(p, SASS_INPUT_ADDRESS), from = a->address, one = p->saved_at + 1;
	bool uniform = a->uniform != SASS_URZ;

	for (unsigned i = 0; i < 2 && (uniform || !a->offset); i++)
		emit(p, uniform ? sass_move_uniform(to + i, a->uniform + i) :
				  sass_move(to + i, from == SASS_RZ ? SASS_RZ : from + i));
	if (!a->offset)
		return;
	emit(p, sass_move_imm(one, 1));
	emit(p, sass_mul_add_wide(to, one, a->offset, uniform ? to : from));
}

/* Emits the computation of the offset of a near access: register * scale + uniform register + constant. */
static void emit_offset(struct stub_writer *p, const struct sass_access *a)
{
	uint32_t to = sass_stub_value_reg(p, SASS_INPUT_ADDRESS);
	bool uniform = a->uniform != SASS_URZ;

	if (uniform)
		emit(p, sass_move_uniform(to, a->uniform));
	emit(p, sass_mul_add(to, a->address, a->scale, uniform ? to : SASS_RZ));
	if (a->offset)
		emit(p, sass_add_imm(to, a->offset));
	emit(p, sass_move(to + 1, SASS_RZ));
}

static void emit_value(struct stub_writer *p, const struct sass_access *a, enum sass_input value)
{
	unsigned first = value == SASS_INPUT_VALUE_HIGH ? 2 : 0;

	for (unsigned i = 0; i < 2; i++) {
		uint32_t to = sass_stub_value_reg(p, value) + i,
			 from = first + i < a->nvalue && a->value != SASS_RZ ? a->value + first + i : SASS_RZ;

		emit(p, a->bytes < 4 && !first && !i ? sass_and_imm(to, from, (1u << 8 * a->bytes) - 1) :
						       sass_move(to, from));
	}
}

/* Emits moves of n words, at most two, from register `from` on to the registers of the value. Missing words are 0. */
static void emit_words(struct stub_writer *p, enum sass_input value, uint32_t from, uint32_t n)
{
	for (unsigned i = 0; i < 2; i++)
		emit(p, sass_move(sass_stub_value_reg(p, value) + i, i < n && from != SASS_RZ ? from + i : SASS_RZ));
}

/* Emits the mask of the lanes that take the branch. It is the AND of the mask of the lanes for which `guard` holds
 * and of the lanes for which `second` holds. */
static void emit_taken_mask(struct stub_writer *p, uint32_t to, unsigned guard, unsigned second)
{
	uint32_t one = p->saved_at + 1;

	emit(p, sass_with_in(sass_vote(to), guard));
	if (second == SASS_PT)
		return;
	emit(p, sass_with_in(sass_vote(one), second));
	emit(p, sass_and(to, to, one));
}

/* Whether a lane takes a BRA.U depends on two lane predicates and a uniform predicate. The stub saves the predicates
 * and writes the AND of these three to COMBINED_PREDICATE. */
#define COMBINED_PREDICATE 0

void sass_stub_emit_branch_values(struct stub_writer *p, struct sass_insn own, uint32_t values)
{
	unsigned guard = own.guard, second = own.in;
	bool warps = sass_opcode(own) == SASS_OP_BRA_U && values & (1u << SASS_INPUT_LANES | 1u << SASS_INPUT_TAKEN);

	if (warps) {
		emit(p, sass_save_predicates(p->saved_at));
		emit(p, sass_and_predicates_uniform(COMBINED_PREDICATE, guard, second, own.operand[1].reg & 0xf));
		guard = COMBINED_PREDICATE;
		second = SASS_PT;
	}
	for (enum sass_input g = SASS_INPUT_LANES; g <= SASS_INPUT_ACTIVE; g++)
		if (values >> g & 1)
			emit(p, sass_move(sass_stub_value_reg(p, g) + 1, SASS_RZ));
	if (values >> SASS_INPUT_TAKEN & 1) {
		uint32_t to = sass_stub_value_reg(p, SASS_INPUT_TAKEN);

		emit(p, sass_move_imm(to, 0));
		emit(p, sass_with_guard(sass_move_imm(to, 1), guard));
		if (second != SASS_PT)
			emit(p, sass_with_guard(sass_move_imm(to, 0), second ^ 8));
	}
	if (values >> SASS_INPUT_LANES & 1)
		emit_taken_mask(p, sass_stub_value_reg(p, SASS_INPUT_LANES), guard, second);
	if (values >> SASS_INPUT_ACTIVE & 1)
		emit(p, sass_vote(sass_stub_value_reg(p, SASS_INPUT_ACTIVE)));
	if (warps) {
		emit(p, sass_nop(0, SASS_PREDICATE_CYCLES));
		emit(p, sass_restore_predicates(p->saved_at));
	}
}

/* Loads the lower 64 bits of each operand. Loads 0 for operands that the instruction does not have. */
void sass_stub_emit_operands(struct stub_writer *p, struct sass_insn own, uint32_t values)
{
	struct sass_operand named[SASS_OPERANDS];
	unsigned n = sass_operands_named(p->code->arch, own, named);

	for (unsigned i = 0; i < SASS_OPERANDS; i++)
		for (unsigned half = 0; values >> (SASS_INPUT_REGISTER + i) & 1 && half < 2; half++) {
			const struct sass_operand *o = i < n && half < named[i].n ? &named[i] : NULL;
			uint32_t to = sass_stub_value_reg(p, SASS_INPUT_REGISTER + i) + half;

			emit(p, o && o->uniform ? sass_move_uniform(to, o->reg + half) :
						  sass_move(to, o ? o->reg + half : SASS_RZ));
		}
}

void sass_stub_emit_access_values(struct stub_writer *p, const struct sass_access *a, uint32_t values)
{
	if (values & (1u << SASS_INPUT_ADDRESS | 1u << SASS_INPUT_OFFSET))
		a->near ? emit_offset(p, a) : emit_address(p, a);
	for (enum sass_input g = SASS_INPUT_VALUE; g <= SASS_INPUT_VALUE_HIGH; g++)
		if (values >> g & 1)
			emit_value(p, a, g);
	if (values >> SASS_INPUT_OPERAND & 1)
		emit_words(p, SASS_INPUT_OPERAND, a->operand, a->nvalue);
}

void sass_stub_emit_old_value(struct stub_writer *p, const struct sass_access *a, struct sass_insn own)
{
	unsigned board = sass_write_board(own);

	emit(p, sass_nop(0, SASS_SCOREBOARD_CYCLES));
	emit(p, sass_nop(a->old == SASS_RZ || board == SASS_NO_SCOREBOARD ? 0 : 1u << board, 1));
	emit_words(p, SASS_INPUT_OLD, a->old, a->nvalue);
}

enum gpubpf_mem_space sass_stub_access_space(const struct sass_access *a)
{
	for (enum gpubpf_mem_space s = GPUBPF_GLOBAL; s <= GPUBPF_CONSTANT; s++)
		if (a->spaces == 1u << s)
			return s;
	return GPUBPF_GENERIC;
}

uint32_t sass_stub_place_constant(const struct sass_insn_probe *at, enum sass_input value)
{
	const struct sass_access *a = &at->place.access;

	switch (value) {
	case SASS_INPUT_PLACE_ID:
		return at->place.id;
	case SASS_INPUT_LINE:
		return at->line;
	case SASS_INPUT_BYTES:
		return a->bytes;
	case SASS_INPUT_ACCESS_KIND:
		return a->access;
	case SASS_INPUT_SPACE:
		return sass_stub_access_space(a);
	case SASS_INPUT_OP:
		return a->op;
	case SASS_INPUT_BARRIER_ID:
		return at->place.barrier;
	case SASS_INPUT_BARRIER_KIND:
		return GPUBPF_BARRIER_BLOCK;
	case SASS_INPUT_COUNT:
		return a->access != GPUBPF_ATOMIC && a->bytes > 4 ? a->bytes / 4 : 1;
	case SASS_INPUT_HINT:
		return GPUBPF_HINT_UNTOLD;
	default:
		return 0;
	}
}
