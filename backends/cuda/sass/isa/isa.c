/* SPDX-License-Identifier: Apache-2.0 */
#include "isa.h"

#include "bits.h"

#include <assert.h>

struct sass_op sass_ops[SASS_OPERATIONS] = {
/* a constructor adds the traits before main() */
#define SASS_OP(number, name, class) [number] = { #name, SASS_##class, 0 },
#include "isa.def"
};

static const struct {
	enum sass_trait trait;
	const uint16_t *operations; /* 0: the end */
} traits[] = {
#define OP(name) SASS_OPERATION_##name,
#define SASS_TRAIT(trait, list) { SASS_##trait, (const uint16_t[]){ list 0 } },
#include "traits.def"
#undef OP
};

__attribute__((constructor)) static void fill_traits(void)
{
	for (size_t i = 0; i < sizeof(traits) / sizeof(*traits); i++)
		for (const uint16_t *of = traits[i].operations; *of; of++)
			sass_ops[*of].traits |= traits[i].trait;
}

static const struct sass_arch arches[] = {
#define SASS_ARCH(sm, wide, params, descriptor, extents, reserved, timed) { sm, wide, params, descriptor, extents, reserved, timed },
#include "isa.def"
};

const struct sass_arch *sass_arch_find(uint32_t sm)
{
	for (size_t i = 0; i < sizeof(arches) / sizeof(*arches); i++)
		if (arches[i].sm == sm)
			return &arches[i];
	return NULL;
}

/* The offset divided by 4 is a signed number of 48 bits in bits 34..81. On architectures with `wide_branch`, bits
 * 16..23 are 8 more low bits. BSSY has only 30 bits, in bits 34..63; the bits after them say how lanes converge. */
int64_t sass_branch(const struct sass_arch *arch, struct sass_insn i)
{
	int64_t n = sass_field(i, 34, 30) | sass_field(i, 64, 18) << 30;

	if (sass_opcode(i) == SASS_OP_BSSY)
		return (int64_t)((uint64_t)sass_field(i, 34, 30) << 34) >> 32;
	n = (int64_t)((uint64_t)n << 16) >> 16;
	if (arch->wide_branch)
		n = (int64_t)((uint64_t)n << 8 | sass_field(i, 16, 8));
	return (int64_t)((uint64_t)n << 2);
}

struct sass_insn sass_with_branch(const struct sass_arch *arch, struct sass_insn i, int64_t offset)
{
	struct sass_word w = sass_encode(i);
	uint64_t n = (uint64_t)(offset >> 2);
	uint32_t at = i.at;

	assert(offset % 4 == 0);
	if (arch->wide_branch && i.opcode != SASS_OP_BSSY) {
		w = sass_word_with(w, 16, 8, n);
		n = (uint64_t)((int64_t)n >> 8);
	}
	w = sass_word_with(w, 34, 30, n);
	if (i.opcode != SASS_OP_BSSY)
		w = sass_word_with(w, 64, 18, n >> 30);
	i = sass_decode(w);
	i.at = at;
	return i;
}

/* Returns the index of the operand whose field holds the convergence barrier; -1: the instruction names none. */
static int barrier_operand(uint32_t opcode)
{
	switch (opcode) {
	case SASS_OP_BSSY:
	case SASS_OP_BSYNC:
	case SASS_OP_BREAK:
		return 0;
	case SASS_OP_BMOV_CLEAR:
	case SASS_OP_BMOV_FILL:
		return 1;
	default:
		return -1;
	}
}

int sass_convergence_barrier(struct sass_insn i)
{
	int o = barrier_operand(i.opcode);

	return o < 0 ? -1 : i.operand[o].reg & 0xf;
}

struct sass_insn sass_with_convergence_barrier(struct sass_insn i, unsigned barrier)
{
	int o = barrier_operand(i.opcode);

	i.operand[o].reg = (i.operand[o].reg & 0xf0) | barrier;
	return i;
}

struct sass_insn sass_with_opcode(struct sass_insn i, unsigned opcode)
{
	return sass_with_field(i, 0, 12, opcode);
}

struct sass_insn sass_with_access_width(struct sass_insn i, unsigned width)
{
	return sass_with_field(i, 73, 3, width);
}

/* The preamble: ISETP P0, UR2 != 0. @P0 BRA. B0 = ~0. Then B1..B15, each a copy of the barrier before. B15 = 0. UR2
 * = 1. */
#define PREAMBLE 20
#define OP_BMOV_MOVE 0xf55
#define OP_BMOV_SET 0x956

static uint64_t preamble_at(uint32_t i)
{
	static const uint64_t first[] = { 0x00000002ff007c0c, 0x0000012000000947, 0xffffffff00007956 };

	if (i < 3)
		return first[i];
	if (i == PREAMBLE - 2)
		return 0x7000 | OP_BMOV_SET | 15 << 24;
	if (i == PREAMBLE - 1)
		return 0x100027882;
	return 0x7000 | OP_BMOV_MOVE | (i - 2) << 16 | (uint64_t)(i - 3) << 24;
}

uint32_t sass_preamble(const struct sass_arch *arch, const uint8_t *bytes, uint32_t n)
{
	uint32_t i = 0;

	while (arch->sm == 87 && i < PREAMBLE && i < n && sass_read_word(bytes + i * SASS_INSN).lo == preamble_at(i))
		i++;
	return i == PREAMBLE && i < n ? PREAMBLE : 0;
}

static struct sass_insn insn_of(uint64_t lo, uint64_t hi)
{
	return sass_decode((struct sass_word){ lo, hi });
}

struct sass_insn sass_with_control(struct sass_insn i, unsigned waits, unsigned stall)
{
	i.stall = stall & SASS_STALL_MAX;
	i.write_board = i.read_board = SASS_NO_SCOREBOARD;
	return sass_with_waits(i, waits);
}

struct sass_insn sass_nop(unsigned waits, unsigned stall)
{
	struct sass_insn i = { .opcode = SASS_OP_NOP, .guard = SASS_PT, .operand[0].written = true };

	return sass_with_control(i, waits, stall);
}

#define SECOND_PT ((uint64_t)SASS_PT << 23) /* bits 87..89 */

struct sass_insn sass_bra(const struct sass_arch *arch, int64_t offset)
{
	struct sass_insn i = sass_with_control(insn_of(SASS_OP_BRA | SASS_PT << 12, SECOND_PT), 0, 5);

	return sass_with_branch(arch, i, offset);
}

struct sass_insn sass_warpsync_all(void)
{
	return sass_with_control(insn_of(SASS_OP_WARPSYNC_ALL | SASS_PT << 12, SECOND_PT), 0, 5);
}

struct sass_insn sass_break(unsigned barrier)
{
	return sass_with_control(insn_of(SASS_OP_BREAK | SASS_PT << 12 | barrier << 16, SECOND_PT), 0, 5);
}

struct sass_insn sass_bssy(unsigned barrier, int64_t offset)
{
	struct sass_insn i = insn_of(SASS_OP_BSSY | SASS_PT << 12 | barrier << 16, SECOND_PT);

	assert(offset >= 0 && offset % 4 == 0);
	return sass_with_control(sass_with_field(i, 34, 30, (uint64_t)offset >> 2), 0, 5);
}

struct sass_insn sass_bsync(unsigned barrier)
{
	return sass_with_control(insn_of(SASS_OP_BSYNC | SASS_PT << 12 | barrier << 16, SECOND_PT), 0, 5);
}

struct sass_insn sass_vote(unsigned reg)
{
	return sass_with_control(insn_of(SASS_OP_VOTE | SASS_PT << 12 | (uint64_t)reg << 16, 0x038e0100), 0,
				 SASS_VOTE_CYCLES);
}

struct sass_insn sass_special(unsigned to, enum sass_special what, unsigned board)
{
	struct sass_insn i = insn_of(SASS_OP_S2R | SASS_PT << 12 | (uint64_t)to << 16, (uint64_t)what << 8);

	return sass_with_field(sass_with_control(i, 0, 1), SASS_WRITE_AT, 3, board);
}

struct sass_insn sass_lane_bit(unsigned reg)
{
	return sass_special(reg, SASS_SR_EQMASK, 0);
}

/* Returns a SEL of `reg` or zero, with the destination, guard and waits of instruction `of`. Bit 3 of `predicate`
 * negates the predicate. */
static struct sass_insn build_select(struct sass_insn of, unsigned reg, uint64_t predicate, unsigned stall)
{
	struct sass_insn i = insn_of(0x207 | sass_field(of, 12, 4) << 12 | sass_field(of, 16, 8) << 16 |
					     (uint64_t)reg << 24 | (uint64_t)SASS_RZ << 32,
				     predicate << 23);

	return sass_with_control(i, sass_wait_mask(of), stall);
}

struct sass_insn sass_vote_alone(struct sass_insn vote, unsigned own)
{
	return build_select(vote, own, sass_field(vote, 87, 4), sass_stall(vote));
}

#define SELECT_TIME 6

struct sass_insn sass_match_alone(struct sass_insn match, unsigned own)
{
	return build_select(match, own, SASS_PT, sass_stall(match) > SELECT_TIME ? sass_stall(match) : SELECT_TIME);
}

struct sass_insn sass_isetp_imm(unsigned predicate, unsigned reg, uint32_t number, bool equal)
{
	struct sass_insn i = insn_of(0x80c | SASS_PT << 12 | (uint64_t)reg << 24 | (uint64_t)number << 32,
				     equal ? 0x03f02070 : 0x03f05070);

	return sass_with_control(sass_with_field(i, 81, 3, predicate), 0, SASS_PREDICATE_CYCLES);
}

/* PLOP3.LUT to, PT, a, b, c, 0x80; bits 67..71 say which predicate c is */
static struct sass_insn build_and(unsigned to, unsigned a, unsigned b, uint64_t c)
{
	return sass_with_control(insn_of(SASS_OP_PLOP3 | SASS_PT << 12,
					 0x00701000 | c | (uint64_t)b << 13 | (uint64_t)to << 17 | (uint64_t)a << 23),
				 0, SASS_PREDICATE_CYCLES);
}

/* PLOP3.LUT to, PT, a, b, PT, 0x80 */
struct sass_insn sass_and_predicates(unsigned to, unsigned a, bool a_negated, unsigned b, bool b_negated)
{
	return build_and(to, a | (a_negated ? SASS_NEGATED : 0), b | (b_negated ? SASS_NEGATED : 0), SASS_PT << 4);
}

/* PLOP3.LUT to, PT, a, b, UPwarps, 0x80 */
struct sass_insn sass_and_predicates_uniform(unsigned to, unsigned a, unsigned b, unsigned warps)
{
	return build_and(to, a, b, 1u << 3 | warps << 4);
}

#define ALL_PREDICATES 0x7full

/* P2R reg, PR, RZ, 0x7f */
struct sass_insn sass_save_predicates(unsigned reg)
{
	struct sass_insn i = insn_of(SASS_OP_P2R | SASS_PT << 12 | (uint64_t)reg << 16 | (uint64_t)SASS_RZ << 24 |
					     ALL_PREDICATES << 32,
				     0);

	return sass_with_control(i, 0, SASS_MOVE_CYCLES);
}

/* R2P PR, reg, 0x7f */
struct sass_insn sass_restore_predicates(unsigned reg)
{
	struct sass_insn i = insn_of(SASS_OP_R2P | SASS_PT << 12 | (uint64_t)reg << 24 | ALL_PREDICATES << 32, 0);

	return sass_with_control(i, 0, SASS_PREDICATE_CYCLES);
}

static struct sass_insn build_alu(uint64_t lo, uint64_t hi)
{
	return sass_with_control(insn_of(lo | SASS_PT << 12, hi), 0, SASS_MOVE_CYCLES);
}

struct sass_insn sass_move(unsigned to, unsigned from)
{
	return build_alu(0x202 | (uint64_t)to << 16 | (uint64_t)from << 32, 0xf00);
}

struct sass_insn sass_move_uniform(unsigned to, unsigned from)
{
	return build_alu(0xc02 | (uint64_t)to << 16 | (uint64_t)from << 32, 0x08000f00);
}

struct sass_insn sass_move_imm(unsigned to, uint32_t number)
{
	return build_alu(0x802 | (uint64_t)to << 16 | (uint64_t)number << 32, 0xf00);
}

/* LOP3.LUT to, from, mask, RZ, 0xc0, !PT */
struct sass_insn sass_and_imm(unsigned to, unsigned from, uint32_t mask)
{
	return build_alu(0x812 | (uint64_t)to << 16 | (uint64_t)from << 24 | (uint64_t)mask << 32, 0x078ec000 | SASS_RZ);
}

/* LOP3.LUT to, a, b, RZ, 0xc0 */
struct sass_insn sass_and(unsigned to, unsigned a, unsigned b)
{
	return build_alu(0x212 | (uint64_t)to << 16 | (uint64_t)a << 24 | (uint64_t)b << 32, 0x078ec000 | SASS_RZ);
}

/* IMAD.WIDE to, one, number, from */
struct sass_insn sass_mul_add_wide(unsigned to, unsigned one, int32_t number, unsigned from)
{
	return build_alu(0x825 | (uint64_t)to << 16 | (uint64_t)one << 24 | (uint64_t)(uint32_t)number << 32,
			 0x078e0200 | from);
}

/* IMAD to, from, scale, and */
struct sass_insn sass_mul_add(unsigned to, unsigned from, uint32_t scale, unsigned and)
{
	return build_alu(0x824 | (uint64_t)to << 16 | (uint64_t)from << 24 | (uint64_t)scale << 32, 0x078e0200 | and);
}

/* IADD3 to, to, number, RZ */
struct sass_insn sass_add_imm(unsigned to, int32_t number)
{
	return build_alu(0x810 | (uint64_t)to << 16 | (uint64_t)to << 24 | (uint64_t)(uint32_t)number << 32,
			 0x07ffe000 | SASS_RZ);
}

/* IADD3 to, -without, number, RZ */
struct sass_insn sass_sub_from_imm(unsigned to, int32_t number, unsigned without)
{
	return build_alu(0x810 | (uint64_t)to << 16 | (uint64_t)without << 24 | (uint64_t)(uint32_t)number << 32,
			 0x07ffe100 | SASS_RZ);
}

/* IADD3 to, -without, from, RZ */
struct sass_insn sass_sub(unsigned to, unsigned from, unsigned without)
{
	return build_alu(0x210 | (uint64_t)to << 16 | (uint64_t)without << 24 | (uint64_t)from << 32, 0x07ffe100 | SASS_RZ);
}

/* IMAD to, a, b, RZ */
struct sass_insn sass_mul(unsigned to, unsigned a, unsigned b)
{
	return build_alu(0x224 | (uint64_t)to << 16 | (uint64_t)a << 24 | (uint64_t)b << 32, 0x078e0200 | SASS_RZ);
}

/* ISETP.NE.U32.AND predicate, PT, a, b, PT */
struct sass_insn sass_isetp_ne(unsigned predicate, unsigned a, unsigned b)
{
	struct sass_insn i = insn_of(0x20c | SASS_PT << 12 | (uint64_t)a << 24 | (uint64_t)b << 32, 0x03f05070);

	return sass_with_control(sass_with_field(i, 81, 3, predicate), 0, SASS_PREDICATE_CYCLES);
}

static struct sass_insn build_slow(uint64_t lo, uint64_t hi, unsigned board)
{
	return sass_with_field(sass_with_control(insn_of(lo | SASS_PT << 12, hi), 0, SASS_SCOREBOARD_CYCLES),
			       SASS_WRITE_AT, 3, board);
}

/* LDC to, c[0x0][off] */
struct sass_insn sass_load_launch_word(unsigned to, unsigned off, unsigned board)
{
	return build_slow(SASS_OP_LDC | (uint64_t)to << 16 | (uint64_t)SASS_RZ << 24 | (uint64_t)off << 38, 0x800, board);
}

/* POPC to, of */
struct sass_insn sass_popc(unsigned to, unsigned of, unsigned board)
{
	return build_slow(0x309 | (uint64_t)to << 16 | (uint64_t)of << 32, 0, board);
}

static uint64_t address_bits(unsigned address, int32_t off)
{
	return (uint64_t)address << 24 | (uint64_t)(off & 0xffffff) << 40;
}

/* STS [address + off], value */
struct sass_insn sass_store_shared(unsigned address, int32_t off, unsigned value)
{
	return build_slow(SASS_OP_STS | address_bits(address, off) | (uint64_t)value << 32, 0x800, SASS_NO_SCOREBOARD);
}

/* ATOMS.ADD to, [address + off], value. Architectures with descriptors have no RZ in the field of the third operand. */
struct sass_insn sass_atomic_add_shared(const struct sass_arch *arch, unsigned to, unsigned address, int32_t off,
					unsigned value, unsigned board)
{
	return build_slow(SASS_OP_ATOMS | (uint64_t)to << 16 | address_bits(address, off) | (uint64_t)value << 32,
			  arch->descriptor ? 0 : SASS_RZ, board);
}

/* BAR.SYNC 0; from sm_80 on with .DEFER_BLOCKING */
struct sass_insn sass_bar_sync(const struct sass_arch *arch)
{
	return sass_with_control(insn_of(SASS_OP_BAR | SASS_PT << 12, arch->descriptor ? 0x10000 : 0), 0, 5);
}

/* @predicate EXIT */
struct sass_insn sass_exit_if(unsigned predicate)
{
	return sass_with_control(insn_of(SASS_OP_EXIT | (uint64_t)predicate << 12, SECOND_PT), 0, 5);
}

/* SHF.R.S32.HI to, RZ, 31, of */
struct sass_insn sass_sign_mask(unsigned to, unsigned of)
{
	return build_alu(0x819 | (uint64_t)to << 16 | (uint64_t)SASS_RZ << 24 | 31ull << 32, 0x00011400 | of);
}

/* LOP3.LUT to, from, mask, RZ, 0x30, !PT */
struct sass_insn sass_and_not(unsigned to, unsigned from, unsigned mask)
{
	return build_alu(0x212 | (uint64_t)to << 16 | (uint64_t)from << 24 | (uint64_t)mask << 32, 0x078e3000 | SASS_RZ);
}

/* LDG.E to, [address.64] without a descriptor. From sm_80 on bit 76 states this too; on sm_75 it is part of the memory
 * order. */
struct sass_insn sass_load(const struct sass_arch *arch, unsigned to, unsigned address, unsigned width)
{
	struct sass_insn i = build_alu(0x381 | (uint64_t)to << 16 | (uint64_t)address << 24,
				       arch->descriptor ? 0x001e0100 : 0x001ee100);

	return sass_with_field(sass_with_field(i, 73, 3, width), SASS_STALL_AT, 4, SASS_SCOREBOARD_CYCLES);
}

#define MIN_SM_FAST_R2UR 90        /* the first architecture where R2UR has a fixed latency */
#define UNIFORM_BOARD 5

/* R2UR to, from */
struct sass_insn sass_move_to_uniform(const struct sass_arch *arch, unsigned to, unsigned from)
{
	bool known = arch->sm >= MIN_SM_FAST_R2UR;
	struct sass_insn i = build_alu((known ? 0x2ca : 0x3c2) | (uint64_t)to << 16 | (uint64_t)from << 24, 0x000e0000);

	return known ? i : sass_with_field(i, SASS_WRITE_AT, 3, UNIFORM_BOARD);
}
