/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass: checks the stubs of instructions that read __constant__ variables, by abstract interpretation of the stub's
 * registers.
 *
 * A stub computes the address of the constant in the memory of the original module. The agent fills in the two halves
 * of that address. The stub loads exactly this constant, waits for it, and passes it on as the kernel's instruction
 * would. It writes no predicate. It writes only registers above the kernel's and the destination of the kernel's
 * instruction. It leaves no operation in flight.
 */
#include "work.h"
#include "backends/cuda/sass/isa/constant.h"
#include "backends/cuda/sass/analysis/live.h"

#define ALL_BOARDS 0x3f
#define REGCOUNT_EXTRA 3
#define UNIFORM_CYCLES 15          /* cycles from the write of a uniform register until it can be read */
#define MAX_STUB_INSNS 32          /* maximum number of instructions of a stub */

/* contents of a register of the stub that the pass recognizes, in the order in which a stub computes them */
enum known {
	NOTHING,
	HALF_LOW,
	HALF_HIGH,
	INDEX_REG,
	INDEX_SUM,
	INDEX_MASKED,
	DISTANCE_TO_END,
	OUT_OF_RANGE_MASK,
	INDEX_CLAMPED,
};

struct stub_walk {
	struct checked *c;
	uint32_t from, base; /* from: the branch to the stub. base: the first register of the stub. */
	struct sass_insn own;
	struct sass_constant k;
	uint8_t known[SASS_CONSTANT_REGISTERS];
	uint32_t off[2];      /* for the low and the high half of the address: the offset in the constant bank that
	                       * the agent adds to the address of the bank */
	bool address, loaded; /* address: registers base and base + 1 hold the address of the constant. loaded: the
	                       * stub has issued the load. */
	unsigned load_board, consumer_boards; /* load_board: the scoreboard of the load as a bit, 0 once the stub has
	                                       * waited for it. consumer_boards: scoreboards of the instructions
	                                       * that consume the value. A wait for a scoreboard removes it. */
	uint32_t nparts_delivered; /* number of 32-bit parts of the value that have reached their destination; an
	                            * operand is one part */
	uint32_t cycles_since;     /* cycles since the last part reached its destination */
};

static int fail_stub(const struct stub_walk *w, uint32_t i, const char *what)
{
	return sass_check_fail(w->c, i, what);
}

/* Returns true if the agent fills in the immediate of instruction i with the high or low half of an address. Sets
 * *off to the offset of that address in the constant bank. */
static bool is_filled_in(const struct stub_walk *w, uint32_t i, bool high, uint32_t *off)
{
	const struct sass_cubin *twin = &w->c->twin;
	uint64_t at = twin->sections[twin->kernels[0].text].head.sh_offset + (uint64_t)i * SASS_INSN + 4;
	uint32_t bank = sass_section_find(w->c->app, SASS_CONSTANTS), found = 0;

	for (uint32_t b = 0; b < w->c->nbindings; b++) {
		const struct sass_binding *x = &w->c->bindings[b];
		const struct sass_symbol *s = &w->c->app->symbols[x->symbol];

		if (x->off != at)
			continue;
		if (x->part != (high ? CUDA_TWIN_HIGH : CUDA_TWIN_LOW) || !bank || s->section != bank || s->name[0] == 0)
			return false;
		*off = (int64_t)s->head.st_value + x->addend;
		found++;
	}
	return found == 1;
}

/* -- the address -- */

static bool holds(const struct stub_walk *w, unsigned reg, enum known what)
{
	return w->known[reg] == what;
}

static int set_known(struct stub_walk *w, unsigned reg, enum known what)
{
	w->known[reg] = what;
	return 1;
}

/* Each check_*() function below returns 1 if it recognizes the instruction, 0 if not, or -EINVAL. */
static int check_half(struct stub_walk *w, uint32_t i, struct sass_insn insn, bool high)
{
	if (!same_except_control(insn, sass_move_imm(w->base + high, 0)) || !is_filled_in(w, i, high, &w->off[high]))
		return 0;
	return set_known(w, high, high ? HALF_HIGH : HALF_LOW);
}

/* Recognizes one step of the computation of an indexed address. The steps copy the index, add the offset, and mask the
 * sum. They replace the sum by 0 if it is out of range, and add the address of the bank. These steps ensure that all
 * bytes of the constant are inside the bank. */
static int check_index(struct stub_walk *w, struct sass_insn insn)
{
	uint32_t index = w->base + SASS_CONSTANT_INDEX, beyond = w->base + SASS_CONSTANT_BEYOND;
	uint32_t room = w->c->code->constants_size - w->k.bytes;

	if (same_except_control(insn, w->k.uniform_index ? sass_move_uniform(index, w->k.index) :
							   sass_move(index, w->k.index)))
		return set_known(w, SASS_CONSTANT_INDEX, INDEX_REG);
	if (same_except_control(insn, sass_add_imm(index, w->k.off)) && holds(w, SASS_CONSTANT_INDEX, INDEX_REG))
		return set_known(w, SASS_CONSTANT_INDEX, INDEX_SUM);
	if (same_except_control(insn, sass_and_imm(index, index, 0xffff)) && holds(w, SASS_CONSTANT_INDEX, INDEX_SUM))
		return set_known(w, SASS_CONSTANT_INDEX, INDEX_MASKED);
	if (same_except_control(insn, sass_sub_from_imm(beyond, room, index)) &&
	    holds(w, SASS_CONSTANT_INDEX, INDEX_MASKED))
		return set_known(w, SASS_CONSTANT_BEYOND, DISTANCE_TO_END);
	if (same_except_control(insn, sass_sign_mask(beyond, beyond)) && holds(w, SASS_CONSTANT_BEYOND, DISTANCE_TO_END))
		return set_known(w, SASS_CONSTANT_BEYOND, OUT_OF_RANGE_MASK);
	if (same_except_control(insn, sass_and_not(index, index, beyond)) &&
	    holds(w, SASS_CONSTANT_INDEX, INDEX_MASKED) && holds(w, SASS_CONSTANT_BEYOND, OUT_OF_RANGE_MASK))
		return set_known(w, SASS_CONSTANT_INDEX, INDEX_CLAMPED);
	if (!same_except_control(insn, sass_mul_add_wide(w->base, index, 1, w->base)) ||
	    !holds(w, SASS_CONSTANT_INDEX, INDEX_CLAMPED) || !holds(w, 0, HALF_LOW) || !holds(w, 1, HALF_HIGH) ||
	    w->off[0] || w->off[1])
		return 0;
	w->address = true;
	return set_known(w, 0, NOTHING) & set_known(w, 1, NOTHING);
}

static bool has_address(const struct stub_walk *w)
{
	if (w->k.index != SASS_RZ)
		return w->address;
	return holds(w, 0, HALF_LOW) && holds(w, 1, HALF_HIGH) && w->off[0] == w->k.off && w->off[1] == w->k.off;
}

/* -- the load -- */

/* Recognizes the load. It must have the width and extension of the kernel's read. If it writes the kernel's register
 * directly (LDC), it must also have the guard of the kernel's instruction. */
static int check_load(struct stub_walk *w, uint32_t i, struct sass_insn insn)
{
	bool loaded = w->k.way == SASS_CONSTANT_LOADED, operand = w->k.way > SASS_CONSTANT_UNIFORM;
	unsigned width = operand ? w->k.bytes == 8 ? SASS_WIDTH_64 : SASS_WIDTH_32 : sass_access_width(w->own);
	uint32_t to = loaded ? w->own.operand[0].reg : w->base + SASS_CONSTANT_VALUE;
	unsigned guard = loaded ? w->own.guard : SASS_PT, board = sass_write_board(insn);

	if (!same_except_control(insn, sass_with_guard(sass_load(w->c->code->arch, to, w->base, width), guard)))
		return 0;
	if (!has_address(w) || w->loaded || board == SASS_NO_SCOREBOARD)
		return fail_stub(w, i, "a constant is loaded from a wrong address or without a scoreboard");
	w->loaded = true;
	w->load_board = 1u << board;
	w->nparts_delivered += loaded;
	return 1;
}

/* Recognizes the instruction that consumes the loaded value: a move to a uniform register, or the kernel's
 * arithmetic instruction with a register in place of the constant. */
static int check_delivery(struct stub_walk *w, uint32_t i, struct sass_insn insn)
{
	bool uniform = w->k.way == SASS_CONSTANT_UNIFORM;
	uint32_t value = w->base + SASS_CONSTANT_VALUE, part = w->nparts_delivered;
	unsigned was = sass_boards_set(w->own), is = sass_boards_set(insn);
	struct sass_insn as = uniform ? sass_move_to_uniform(w->c->code->arch,
							     (w->own.operand[0].reg & SASS_URZ) + part, value + part) :
					sass_constant_to_register(w->own, w->k.way, value);

	if (w->k.way == SASS_CONSTANT_LOADED || !same_except_control(insn, as))
		return 0;
	if (!w->loaded || w->load_board || part == (uniform ? (w->k.bytes + 3) / 4 : 1))
		return fail_stub(w, i, "a constant is used before its load is complete, or twice");
	if (!uniform && (was ? is != was : sass_is_slow(w->own) ? !is : is))
		return fail_stub(w, i, "an instruction sets another scoreboard than in the kernel");
	w->nparts_delivered++;
	w->cycles_since = 0;
	w->consumer_boards |= sass_boards_set(insn);
	w->c->stub_flags[i - w->c->first_stub] |= SASS_IN_STUB_OWN;
	return 1;
}

/* Checks that nothing is in flight at the branch back to the kernel. All parts of the value are delivered, uniform
 * registers are readable, and slow consumers have read their registers. */
static int check_back(struct stub_walk *w, uint32_t i)
{
	bool uniform = w->k.way == SASS_CONSTANT_UNIFORM;
	uint32_t parts = uniform ? (w->k.bytes + 3) / 4 : 1;

	if (w->nparts_delivered != parts || w->load_board || w->consumer_boards ||
	    (uniform && w->cycles_since < UNIFORM_CYCLES))
		return fail_stub(w, i, "a stub branches back before its constant is in place");
	return 0;
}

static int check_insn(struct stub_walk *w, uint32_t i, struct sass_insn insn)
{
	int err;

	w->load_board &= ~sass_wait_mask(insn);
	w->consumer_boards &= ~sass_wait_mask(insn);
	w->cycles_since += sass_min_cycles(insn);
	if (same_except_control(insn, sass_nop(0, 0)))
		return 0;
	if ((err = check_half(w, i, insn, false)) || (err = check_half(w, i, insn, true)) ||
	    (w->k.index != SASS_RZ && (err = check_index(w, insn))) || (err = check_load(w, i, insn)) ||
	    (err = check_delivery(w, i, insn)))
		return err < 0 ? err : 0;
	return fail_stub(w, i, "a stub has an instruction that does not belong to a constant read");
}

static int check_stub(struct stub_walk *w, uint32_t from, unsigned left)
{
	struct checked *c = w->c;
	unsigned waits = sass_wait_mask(w->own) | left | (c->code->slow_predicates ? ALL_BOARDS : 0);
	int err = 0;

	if (sass_opcode(insn_at(c, from)) != SASS_OP_NOP || waits & ~sass_wait_mask(insn_at(c, from)) ||
	    sass_stall(insn_at(c, from)) < SASS_CHECK_PREDICATE_CYCLES)
		return fail_stub(w, from, "a stub does not wait for operations in flight");
	for (uint32_t i = from; !err && i < c->ninsns && i < from + MAX_STUB_INSNS; i++) {
		struct sass_insn insn = insn_at(c, i);

		if (c->stub_flags[i - c->first_stub])
			return fail_stub(w, i, "two instructions branch to the same stub");
		c->stub_flags[i - c->first_stub] = SASS_IN_STUB;
		if (same(insn, sass_bra(c->code->arch, ((int64_t)w->from - i) * SASS_INSN)))
			return check_back(w, i);
		err = check_insn(w, i, insn);
	}
	return err ? err : fail_stub(w, from, "a stub does not branch back to the kernel");
}

int sass_check_constant(struct checked *c)
{
	unsigned left = sass_check_entry_pending(c) | sass_insn_probes_pending(c->insn_probes);
	uint32_t found = 0;
	int err = 0;

	for (uint32_t at = 0; !err && at < c->code->n; at++) {
		struct stub_walk w = {
			.c = c, .from = c->location[at], .own = sass_code_at(c->code, at), .base = (c->regs + 3) / 4 * 4
		};
		int64_t to = sass_check_target(c, c->location[at]);

		if (sass_constant_bank(w.own) != SASS_CONSTANTS_BANK)
			continue;
		found++;
		if (!c->has_stub[at] || !sass_decode_constant_read(w.own, &w.k) || to < c->first_stub ||
		    to >= c->ninsns || !same(insn_at(c, w.from), sass_bra(c->code->arch, (to - w.from - 1) * SASS_INSN)) ||
		    w.base + SASS_CONSTANT_REGISTERS + REGCOUNT_EXTRA - 1 > c->new_regs)
			return sass_check_fail(c, at, "it reads a bank of constants that the twin does not have");
		err = check_stub(&w, to, left);
	}
	return !err && found != c->code->nconstants ?
		       sass_check_fail_whole(c, "it has reads of constants without a stub") :
		       err;
}
