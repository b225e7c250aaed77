/* SPDX-License-Identifier: Apache-2.0 */
#include "constant_stub.h"

#include <errno.h>
#include <stdlib.h>

#include "backends/cuda/sass/isa/scoreboard.h"
#include "patch.h"

#define MIN_BRANCH_CYCLES 5        /* minimum number of cycles from a branch to its target */
#define UNIFORM_CYCLES 15          /* cycles from the write of a uniform register until it can be read */
#define MAX_STUB_INSNS 20

struct stub_writer {
	const struct sass_code *code;
	struct sass_patched_code *out;
	unsigned pending;
	uint32_t regs; /* first register of a stub, which holds SASS_CONSTANT_ADDRESS (enum sass_constant_register) */
};

static void emit(struct stub_writer *p, struct sass_insn insn)
{
	p->out->insns[p->out->n++] = insn;
}

/* Emits a move of the low or high half of the address. The agent fills in the immediate: this half of the address of
 * the variable bank plus `off`. */
static void emit_half_address(struct stub_writer *p, bool high, uint32_t off)
{
	p->out->addresses[p->out->naddresses++] = (struct sass_constant_address){ p->out->n, off, high };
	emit(p, sass_move_imm(p->regs + SASS_CONSTANT_ADDRESS + high, 0));
}

/* Emits the computation of the address of a constant that is read with an index. Replaces an out-of-range index by
 * 0, so that the stub reads no memory outside of the bank. The register may hold a signed or an unsigned 16-bit
 * index. The sum of index and offset is masked to 16 bits, which gives the same result for both. */
static void emit_index(struct stub_writer *p, const struct sass_constant *k)
{
	uint32_t index = p->regs + SASS_CONSTANT_INDEX, beyond = p->regs + SASS_CONSTANT_BEYOND;

	emit(p, k->uniform_index ? sass_move_uniform(index, k->index) : sass_move(index, k->index));
	emit(p, sass_add_imm(index, k->off));
	emit(p, sass_and_imm(index, index, SASS_CONSTANTS_MAX_BYTES - 1));
	emit(p, sass_sub_from_imm(beyond, p->code->constants_size - k->bytes, index));
	emit(p, sass_sign_mask(beyond, beyond));
	emit(p, sass_and_not(index, index, beyond));
	emit(p, sass_mul_add_wide(p->regs, index, 1, p->regs));
}

/* Emits the load of the constant and the wait for it. The load for an LDC writes the destination of the LDC under
 * its guard. The load of an arithmetic operand is unconditional. */
static void emit_load(struct stub_writer *p, const struct sass_constant *k, struct sass_insn own)
{
	bool loaded = k->way == SASS_CONSTANT_LOADED;
	unsigned width = k->way <= SASS_CONSTANT_UNIFORM ? sass_access_width(own) :
			 k->bytes == 8                   ? SASS_WIDTH_64 :
							   SASS_WIDTH_32;
	struct sass_insn load = sass_load(p->code->arch, loaded ? own.operand[0].reg : p->regs + SASS_CONSTANT_VALUE,
					  p->regs, width);

	emit(p, sass_nop(0, SASS_SCOREBOARD_CYCLES));
	emit(p, sass_with_guard(sass_with_write_board(load, SASS_CONSTANT_BOARD), loaded ? own.guard : SASS_PT));
	emit(p, sass_nop(1u << SASS_CONSTANT_BOARD, SASS_SCOREBOARD_CYCLES));
}

static void emit_uniform(struct stub_writer *p, const struct sass_constant *k, struct sass_insn own)
{
	for (uint32_t i = 0; i < (k->bytes + 3) / 4; i++)
		emit(p, sass_move_to_uniform(p->code->arch, (own.operand[0].reg & SASS_URZ) + i,
					     p->regs + SASS_CONSTANT_VALUE + i));
	emit(p, sass_nop(1u << SASS_CONSTANT_BOARD, UNIFORM_CYCLES));
}

/* Emits the arithmetic instruction with a register operand. A slow instruction reads the register only after issue, so
 * the stub waits until the instruction has read it. */
static void emit_own(struct stub_writer *p, const struct sass_constant *k, struct sass_insn own)
{
	struct sass_insn by = sass_constant_to_register(own, k->way, p->regs + SASS_CONSTANT_VALUE);

	emit(p, by);
	if (!sass_is_slow(by))
		return;
	emit(p, sass_nop(0, SASS_SCOREBOARD_CYCLES));
	emit(p, sass_nop(sass_boards_set(by), 1));
}

static void emit_stub(struct stub_writer *p, uint32_t at)
{
	uint32_t location = p->out->location[at];
	struct sass_insn own = sass_code_at(p->code, at);
	unsigned waits = sass_wait_mask(own) | p->pending | (p->code->slow_predicates ? SASS_ALL_BOARDS : 0);
	struct sass_constant k;

	sass_decode_constant_read(own, &k); /* succeeds, because sass_code_read() has checked the instruction */
	p->out->insns[location] = sass_bra(p->code->arch, ((int64_t)p->out->n - location - 1) * SASS_INSN);
	emit(p, sass_nop(waits, SASS_PREDICATE_CYCLES - MIN_BRANCH_CYCLES));
	for (int high = 0; high < 2; high++)
		emit_half_address(p, high, k.index == SASS_RZ ? k.off : 0);
	if (k.index != SASS_RZ)
		emit_index(p, &k);
	emit_load(p, &k, own);
	if (k.way == SASS_CONSTANT_UNIFORM)
		emit_uniform(p, &k, own);
	else if (k.way != SASS_CONSTANT_LOADED)
		emit_own(p, &k, own);
	emit(p, sass_bra(p->code->arch, ((int64_t)location - p->out->n) * SASS_INSN));
}

size_t sass_constants_max_insns(const struct sass_code *code)
{
	return (size_t)code->nconstants * MAX_STUB_INSNS;
}

int sass_emit_constant_stubs(const struct sass_code *code, unsigned left, struct sass_patched_code *out)
{
	struct stub_writer p = { code, out, left, out->base };

	out->addresses = calloc(2 * code->nconstants + 1, sizeof(*out->addresses));
	if (!out->addresses)
		return -ENOMEM;
	for (uint32_t i = 0; i < code->nconstants; i++)
		emit_stub(&p, code->constants[i]);
	return 0;
}
