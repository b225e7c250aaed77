/* SPDX-License-Identifier: Apache-2.0 */
#include "demote.h"

#include "bits.h"
#include "effects.h"

#define UNIFORM_REGS 64
#define IADD3_REST 0x07ffe0ffull   /* high bits of IADD3 without third operand and carries */
#define MOV_ALL 0xf00ull           /* high bits of MOV of all four bytes */
#define MOV_64 0x10f00ull
#define SUM_64_REST 0x078e0200ull  /* high bits of IADD.64 without signs and carries */
#define CONTROL_BITS (~((1ull << 41) - 1))
#define OP_LDG 0x981               /* the uniform register of these four opcodes holds an address if memory has no
                                    * descriptor, else the descriptor */
#define OP_STG 0x986
#define OP_RED 0x98e
#define OP_ATOMG 0x9a8
#define OP_STL 0x987               /* STL with a uniform register in field 64 */
#define OP_STL_REGISTER 0x387
#define OP_LDL 0x983               /* LDL with a uniform register in field 32, if bit 91 is set */
#define OP_LDCU 0x7ac

/* -- operands -- */

static unsigned map_register(const struct sass_lane_registers *to, uint64_t uniform)
{
	uniform &= UNIFORM_REGS - 1;
	return uniform == SASS_URZ ? SASS_RZ : to->reg + uniform - to->first_uniform;
}

static struct sass_word map_fields(const struct sass_lane_registers *to, const struct sass_form *form, struct sass_word w)
{
	for (unsigned i = 0; i < SASS_OPERANDS; i++)
		if (sass_is_uniform_kind(form->operands[i]))
			w = sass_word_with(w, sass_operand_at[i], 8,
					   map_register(to, sass_word_field(w, sass_operand_at[i], 6)));
	return w;
}

static struct sass_word map_predicates(const struct sass_lane_registers *to, struct sass_insn insn)
{
	struct sass_word w = sass_encode(insn);

	for (unsigned f = 0; f < SASS_PREDICATE_FIELDS; f++) {
		unsigned at = sass_predicate_at[f];

		if (!sass_predicate_is_uniform(sass_form(insn), insn, f))
			continue;
		w = sass_word_with(w, at, 3, to->predicate[sass_word_field(w, at, 3)]);
		if (sass_form(insn)->predicates[f] == 'e')
			w = sass_word_with(w, 67, 1, 0);
	}
	return w;
}

/* -- the changes that isa.def names -- */

static struct sass_word with_rest(struct sass_word w, uint64_t rest)
{
	return (struct sass_word){ w.lo, (w.hi & CONTROL_BITS) | rest };
}

/* Removes the memory descriptor, which a uniform register holds from sm_80 on. Before sm_80 that register holds an
 * address, which sass_emit_sum() replaces. In ATOMG bit 90 belongs to the operation. */
static const char *drop_descriptor(const struct sass_arch *arch, uint32_t opcode, struct sass_word *w)
{
	unsigned at = opcode == OP_LDG ? 32 : 64;

	if (!arch->descriptor)
		return "has an address in an unknown form";
	*w = opcode == OP_ATOMG ? sass_word_with(*w, 91, 1, 0) : sass_word_with(sass_word_with(*w, 90, 2, 0), 76, 1, 0);
	*w = sass_word_with(*w, at, 8, opcode == OP_ATOMG ? SASS_RZ : 0);
	return NULL;
}

/* Swaps the fields of B and C. Refuses an operand with a sign, because the sign bits of B and C are at different
 * positions. */
static const char *swap_operands(struct sass_word *w)
{
	uint64_t b = sass_word_field(*w, 64, 8), c = sass_word_field(*w, 32, 8);

	if (sass_word_field(*w, 40, 24) || sass_word_field(*w, 72, 1) || sass_word_field(*w, 75, 1))
		return "has a sign on a register operand, which is not supported";
	*w = sass_word_with(sass_word_with(*w, 32, 8, b), 64, 8, c);
	return NULL;
}

static const char *demote_constant(struct sass_insn insn, struct sass_word *w)
{
	if (insn.opcode == OP_LDCU && insn.operand[1].reg != SASS_RZ)
		return "reads a constant by an index, which is not supported";
	if (sass_constant_offset(insn) > UINT16_MAX)
		return "reads a constant beyond the first 64 KiB";
	*w = sass_word_with(sass_word_with(*w, 37, 17, sass_constant_offset(insn) << 1), 24, 8, SASS_RZ);
	return NULL;
}

static const char *demote_local(const struct sass_form *form, struct sass_word *w)
{
	unsigned at = form->operands[2] == 'y' ? 32 : 64;

	if (sass_word_field(*w, 24, 8) != SASS_RZ)
		return "has an address that adds a uniform register";
	*w = sass_word_with(sass_word_with(*w, 24, 8, sass_word_field(*w, at, 8)), at, 8, 0);
	return NULL;
}

static const char *demote_branch(struct sass_insn insn, struct sass_word *w)
{
	if (insn.in != SASS_PT)
		return "has a branch with a uniform predicate and a second lane predicate";
	*w = sass_word_with(sass_word_with(*w, 87, 4, sass_word_field(*w, 24, 4)), 24, 10, 0);
	return NULL;
}

static const char *demote_move(struct sass_insn insn, struct sass_word *w)
{
	if (insn.out != SASS_PT) /* R2UR P0, URZ, R3 tests whether the lanes' values differ */
		return "writes a predicate in R2UR, which is not supported";
	*w = with_rest(sass_word_with(sass_word_with(*w, 32, 8, sass_word_field(*w, 24, 8)), 24, 8, 0), MOV_ALL);
	*w = sass_word_with(*w, SASS_WRITE_AT, 3, SASS_NO_SCOREBOARD);
	*w = sass_word_with(*w, SASS_READ_AT, 3, SASS_NO_SCOREBOARD);
	return NULL;
}

static const char *demote_form(const struct sass_arch *arch, struct sass_insn insn, struct sass_word *w)
{
	switch (sass_form(insn)->how) {
	case SASS_DEMOTE_AS:
		break;
	case SASS_DEMOTE_MOV:
		*w = with_rest(*w, insn.wide ? MOV_64 : MOV_ALL);
		break;
	case SASS_DEMOTE_FROM_A:
		return demote_move(insn, w);
	case SASS_DEMOTE_SWAP:
		return swap_operands(w);
	case SASS_DEMOTE_CONSTANT:
		return demote_constant(insn, w);
	case SASS_DEMOTE_MEMORY:
		return drop_descriptor(arch, insn.opcode, w);
	case SASS_DEMOTE_LOCAL:
		return demote_local(sass_form(insn), w);
	case SASS_DEMOTE_SUM_64:
		*w = with_rest(*w, SUM_64_REST);
		break;
	case SASS_DEMOTE_VIADD:
		*w = with_rest(*w, IADD3_REST);
		break;
	case SASS_DEMOTE_BRANCH:
		return demote_branch(insn, w);
	}
	return NULL;
}

bool sass_loads_descriptor(const struct sass_arch *arch, struct sass_insn insn)
{
	const struct sass_form *form = sass_form(insn);

	return form && form->how == SASS_DEMOTE_CONSTANT && form->becomes && arch->descriptor &&
	       !sass_field(insn, 54, 5) && sass_constant_offset(insn) == arch->descriptor;
}

static bool writes_uniform_under_guard(const struct sass_form *form, struct sass_word w)
{
	return strchr("vVwn", form->operands[0]) && form->predicates[SASS_P_GUARD] != 'u' &&
	       form->how != SASS_DEMOTE_FROM_A && sass_word_field(w, 12, 4) != SASS_PT;
}

static const char *demote(const struct sass_arch *arch, const struct sass_lane_registers *to, struct sass_insn insn,
			  struct sass_word *w)
{
	const struct sass_form *form = sass_form(insn);
	const char *why;

	if (!sass_is_uniform(insn))
		return NULL;
	if (writes_uniform_under_guard(form, *w))
		return "sets a uniform register under a predicate";
	if (form->how != SASS_DEMOTE_MEMORY)
		*w = map_fields(to, form, *w);
	why = demote_form(arch, insn, w);
	*w = sass_word_with(*w, 0, 12, form->becomes);
	if (form->how != SASS_DEMOTE_MEMORY)
		*w = sass_word_with(sass_word_with(*w, 91, 1, 0), SASS_REUSE_AT, 4, 0);
	return why;
}

const char *sass_demote(const struct sass_arch *arch, const struct sass_lane_registers *to, struct sass_insn *insn)
{
	struct sass_word w;
	uint32_t at = insn->at;
	const char *why;

	if (!sass_by_opcode[insn->opcode].demotes)
		return NULL;
	w = map_predicates(to, *insn);
	why = demote(arch, to, *insn, &w);
	*insn = sass_decode(w);
	insn->at = at;
	return why;
}

/* -- accesses at a register plus a uniform register, or at a pair of uniform registers -- */

#define SUM_TIME 8                 /* cycles until an access can read the computed address */

/* Does the instruction access global memory at an address in uniform registers? */
static bool is_global(const struct sass_arch *arch, struct sass_insn insn)
{
	uint32_t opcode = insn.opcode;

	return !arch->descriptor && insn.mode & 1 &&
	       (opcode == OP_LDG || opcode == OP_STG || opcode == OP_RED ||
		(opcode == OP_ATOMG && sass_field(insn, 24, 8) == SASS_RZ));
}

/* If the address is only a pair of uniform registers, the access needs a copy of the per-lane registers that replace
 * the pair. The original access reads uniform registers at issue, but the new access reads per-lane registers after
 * issue. By then later instructions may have changed the registers that replace the pair. */
uint32_t sass_count_sum_insns(const struct sass_arch *arch, struct sass_insn insn)
{
	bool uniform = insn.opcode == OP_STL || (insn.opcode == OP_LDL && insn.mode & 1);

	if (!sass_by_opcode[insn.opcode].demotes)
		return 0;
	if (is_global(arch, insn))
		return sass_field(insn, 24, 8) == SASS_RZ ? 3 : sass_field(insn, 90, 1) ? 5 : 4;
	return uniform && sass_field(insn, 24, 8) != SASS_RZ ? 2 : 0;
}

/* Returns the access at the address in to->sum. The access sets a read scoreboard, for which the next sum waits. The
 * waits of the access move to the instructions that compute the address. */
static struct sass_insn access_at_sum(const struct sass_lane_registers *to, struct sass_insn access, unsigned uniform)
{
	access = sass_with_field(sass_with_field(access, 24, 8, to->sum), uniform, 8, 0);
	if (access.read_board == SASS_NO_SCOREBOARD)
		access = sass_with_read_board(access, to->board);
	access = sass_with_waits(access, 0);
	return sass_with_reuse(sass_with_field(access, 91, 1, 0), 0);
}

static struct sass_insn insn_of(uint64_t lo, uint64_t hi)
{
	return sass_decode((struct sass_word){ lo | SASS_PT << 12, hi });
}

/* Emits two instructions: an IADD3 that computes the sum of the register and the uniform register, then the access at
 * that sum. */
static void emit_near_sum(const struct sass_lane_registers *to, struct sass_insn from, struct sass_insn *insns)
{
	bool store = from.opcode == OP_STL;
	unsigned at = store ? 64 : 32;
	struct sass_insn sum = insn_of(0xc10 | (uint64_t)to->sum << 16 | sass_field(from, 24, 8) << 24 |
					       sass_field(from, at, 6) << 32,
				       0x0fffe0ff);
	struct sass_insn access = access_at_sum(to, from, at);

	insns[0] = sass_with_control(sum, from.waits | to->sum_boards, SUM_TIME);
	insns[1] = store ? sass_with_opcode(access, OP_STL_REGISTER) : access;
}

/* Emits moves that copy the uniform pair to to->sum, then additions of the register to that copy, then the access at
 * the sum. IMAD.WIDE.U32 with factor 1 adds a 32-bit register. If the register is a 64-bit pair, IADD3 also adds its
 * high half. */
static void emit_global_sum(const struct sass_lane_registers *to, struct sass_insn from, uint32_t n, struct sass_insn *insns)
{
	uint32_t sum = to->sum, reg = sass_field(from, 24, 8);
	unsigned at = from.opcode == OP_LDG ? 32 : 64, uniform = sass_field(from, at, 6);
	struct sass_insn wide = insn_of(0x825 | (uint64_t)sum << 16 | (uint64_t)reg << 24 | 1ull << 32, 0x078e0000 | sum);
	struct sass_insn high = insn_of(0x210 | (uint64_t)(sum + 1) << 16 | (uint64_t)(sum + 1) << 24 |
						(uint64_t)(reg + 1) << 32,
					IADD3_REST);
	struct sass_insn access = access_at_sum(to, from, at);

	insns[0] = sass_with_waits(sass_move_uniform(sum, uniform), from.waits | to->sum_boards);
	insns[1] = sass_with_control(sass_move_uniform(sum + 1, uniform + 1), 0, SUM_TIME);
	if (n > 3)
		insns[2] = sass_with_control(wide, 0, SUM_TIME);
	if (n > 4)
		insns[3] = sass_with_control(high, 0, SUM_TIME);
	access = from.opcode == OP_ATOMG ? sass_with_field(access, at, 8, SASS_RZ) : sass_with_field(access, 90, 1, 0);
	insns[n - 1] = sass_with_opcode(access, sass_form(from)->becomes);
}

void sass_emit_sum(const struct sass_arch *arch, const struct sass_lane_registers *to, struct sass_insn access,
		   struct sass_insn insns[SASS_SUM_MAX_INSNS])
{
	uint32_t n = sass_count_sum_insns(arch, access);

	if (n > 2)
		emit_global_sum(to, access, n, insns);
	else
		emit_near_sum(to, access, insns);
}

struct sass_insn sass_compare_for_div(struct sass_insn div, unsigned predicate, unsigned reg)
{
	struct sass_insn differs = insn_of(0xc0c | (uint64_t)reg << 24 | sass_field(div, 24, 6) << 32, 0x0bf05070);

	differs = sass_with_in(sass_with_out(differs, predicate), div.guard);
	return sass_with_control(differs, 0, SASS_PREDICATE_CYCLES);
}
