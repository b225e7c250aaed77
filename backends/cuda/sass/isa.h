/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA's machine code since Volta: instructions of 128 bits. What is known of them was read off disassemblies of
 * compiled code and checked by running on an H200; what the tables do not name is not understood, and refused.
 *
 *   bits 0..11    opcode: 0..8 the operation, 9..11 the form of its operands
 *   bits 12..15   predicate, negated
 *   bits 16..23   destination; 24..31, 32..39, 64..71: sources A, B, C; or an immediate or a constant in 32..63
 *   bits 105..125 control, the same for all
 */
#ifndef GPUBPF_SASS_ISA_H
#define GPUBPF_SASS_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SASS_INSN 16               /* bytes */
#define SASS_RZ 255                /* the register that is zero; URZ of 6 bits is 63 */
#define SASS_URZ 63
#define SASS_PT 7                  /* the predicate that is true */
#define SASS_REGS_MAX 255

struct sass_insn {
	uint64_t lo, hi;
};

/* what an operation is to somebody who puts code before or behind it */
enum sass_class {
	SASS_UNKNOWN,
	SASS_FIXED,                /* its result is there after a number of cycles that the compiler knows */
	SASS_SLOW,                 /* it takes its time: a scoreboard tells when registers are read and written; what has
				    * none is covered by one of the same unit behind it, which works in order */
	SASS_LOAD,                 /* as SLOW, and compilers leave out the scoreboard where nobody wants the result */
	SASS_STORE,                /* likewise where nobody writes its registers, which it reads late; writes none */
	SASS_ASYNC,                /* goes on by itself, and its results are waited for otherwise */
	SASS_SYNC,                 /* waits for others, orders memory, or hints: no register is written */
	SASS_BRANCH,               /* relative */
	SASS_INDIRECT,             /* to what registers say */
	SASS_CALL_ABSOLUTE,
	SASS_EXIT,
	SASS_MAXREG,               /* USETMAXREG */
};

struct sass_op {
	const char *name;
	enum sass_class class;
};

/* what differs between architectures */
struct sass_arch {
	uint32_t sm;
	bool wide_branch;          /* a branch's low 8 bits of offset / 4 stand in 16..23 */
	uint32_t params;           /* where a kernel's parameters begin in c[0x0] */
	uint32_t descriptor;       /* where there the descriptor of global memory stands, */
	uint32_t extents;          /* a block's, 4 bytes an axis, */
	uint32_t reserved;         /* and how many bytes of its shared memory are the system's */
	bool timed_doubles;        /* their arithmetic has no scoreboards */
};

/* opcodes that somebody asks for by name; all forms of their operations are in isa.def */
enum sass_opcode {
	SASS_OP_BRA = 0x947, SASS_OP_BRA_U = 0x547, SASS_OP_EXIT = 0x94d, SASS_OP_NOP = 0x918, SASS_OP_BSSY = 0x945,
	SASS_OP_BSYNC = 0x941, SASS_OP_CALL_REL = 0x944, SASS_OP_BREAK = 0x942, SASS_OP_WARPSYNC_ALL = 0x948, SASS_OP_YIELD = 0x946, SASS_OP_CALL_ABS = 0x343,
	SASS_OP_VOTE = 0x806, SASS_OP_LDC = 0xb82, SASS_OP_BRX = 0x949, SASS_OP_BRXU = 0x958, SASS_OP_RET = 0x950, SASS_OP_BMOV_CLEAR = 0x355, SASS_OP_BMOV_BACK = 0x356,
	SASS_OP_KEEP_PREDICATES = 0x803, SASS_OP_RESTORE_PREDICATES = 0x804,
	SASS_OP_S2R = 0x919, SASS_OP_STS = 0x388, SASS_OP_ATOMS = 0x38c, SASS_OP_BAR = 0xb1d,
	SASS_OP_MATCH = 0x3a1, SASS_OP_REDUX = 0x3c4, SASS_OP_R2UR = 0x2ca, SASS_OP_PLOP3 = 0x81c,
};

const struct sass_arch *sass_arch_find(uint32_t sm); /* NULL: not known */
const struct sass_op *sass_op_find(uint32_t opcode); /* of class SASS_UNKNOWN if it is not known */

static inline struct sass_insn sass_read(const uint8_t *at)
{
	struct sass_insn insn;

	memcpy(&insn, at, sizeof(insn)); /* cubins are little-endian, as every host of a driver is */
	return insn;
}

static inline uint32_t sass_opcode(struct sass_insn i)
{
	return i.lo & 0xfff;
}

/* A field that begins at bit `at` and does not cross bit 64. */
static inline uint64_t sass_field(struct sass_insn i, unsigned at, unsigned bits)
{
	return (at < 64 ? i.lo >> at : i.hi >> (at - 64)) & ((1ull << bits) - 1);
}

static inline struct sass_insn sass_with(struct sass_insn i, unsigned at, unsigned bits, uint64_t value)
{
	uint64_t *word = at < 64 ? &i.lo : &i.hi, mask = ((1ull << bits) - 1) << at % 64;

	*word = (*word & ~mask) | (value << at % 64 & mask);
	return i;
}

/* control: cycles until the next instruction, a hint to let others go first (not with many cycles), scoreboards that are
 * set (7: none) and that are waited for */
enum sass_control {
	SASS_STALL_AT = 105, SASS_YIELD_AT = 109, SASS_WRITE_AT = 110, SASS_READ_AT = 113, SASS_WAIT_AT = 116,
	SASS_REUSE_AT = 122, /* operands that are kept for the next instruction, by which operand they are */
};
#define SASS_NO_SCOREBOARD 7
#define SASS_SCOREBOARDS 6
#define SASS_SEEN 2                /* cycles after which a scoreboard that was set can be waited for */
#define SASS_STALL_MAX 15

static inline unsigned sass_stall(struct sass_insn i)
{
	return sass_field(i, SASS_STALL_AT, 4);
}

/* Cycles that pass until the next instruction begins, at least. None, and no hint to let others go first, is how compilers end
 * ERRBAR: right behind it they read what they computed right before it, so that at least as many pass as the slowest result
 * with a known time takes that they do so with. */
#define SASS_STALL_LONG 16

static inline unsigned sass_passes(struct sass_insn i)
{
	return sass_stall(i) || sass_field(i, SASS_YIELD_AT, 1) ? sass_stall(i) : SASS_STALL_LONG;
}

static inline unsigned sass_write_board(struct sass_insn i)
{
	return sass_field(i, SASS_WRITE_AT, 3);
}

static inline unsigned sass_read_board(struct sass_insn i)
{
	return sass_field(i, SASS_READ_AT, 3);
}

static inline unsigned sass_waits(struct sass_insn i)
{
	return sass_field(i, SASS_WAIT_AT, 6);
}

/* Scoreboards that the instruction sets, as bits. */
static inline unsigned sass_boards_set(struct sass_insn i)
{
	return (1u << sass_write_board(i) | 1u << sass_read_board(i)) & ((1u << SASS_SCOREBOARDS) - 1);
}

/* Where the instruction names a convergence barrier, of BSSY, BSYNC, BREAK, what empties one into a register or into none, and
 * what fills it again; 0: nowhere. */
static inline unsigned sass_barrier_at(struct sass_insn i)
{
	switch (sass_opcode(i)) {
	case SASS_OP_BSSY: case SASS_OP_BSYNC: case SASS_OP_BREAK:
		return 16;
	case SASS_OP_BMOV_CLEAR: case SASS_OP_BMOV_BACK:
		return 24;
	default:
		return 0;
	}
}

/* Always carried out. */
static inline bool sass_unconditional(struct sass_insn i)
{
	return sass_field(i, 12, 4) == SASS_PT && sass_field(i, 87, 4) == SASS_PT;
}

/* Instructions with which all code for sm_87 begins: they set its barriers, once a warp. 0: others stand there. */
uint32_t sass_preamble(const struct sass_arch *arch, const uint8_t *bytes, uint32_t n);

/* of BRA: a promise that all lanes go the same way */
#define SASS_UNIFORM_AT 32

/* Bytes from behind a relative branch to its target. */
int64_t sass_branch(const struct sass_arch *arch, struct sass_insn i);
struct sass_insn sass_with_branch(const struct sass_arch *arch, struct sass_insn i, int64_t offset);

/* With no scoreboard set and no operand kept. */
struct sass_insn sass_with_control(struct sass_insn i, unsigned waits, unsigned stall);
/* Instructions that are put in. */
struct sass_insn sass_nop(unsigned waits, unsigned stall);
struct sass_insn sass_bra(const struct sass_arch *arch, int64_t offset);
struct sass_insn sass_warpsync_all(void);
struct sass_insn sass_break(unsigned barrier);
/* Lanes that are together here meet at the barrier's BSYNC, `offset` bytes behind which BSSY names where they go on. */
struct sass_insn sass_bssy(unsigned barrier, int64_t offset);
struct sass_insn sass_bsync(unsigned barrier);
/* The lanes that are together here, into a register that can be read SASS_VOTE_TIME cycles later. */
struct sass_insn sass_vote(unsigned reg);
#define SASS_VOTE_TIME 12
/* A special register, when the scoreboard says so. */
enum sass_special { SASS_SR_SHARED_SIZE = 0x32, SASS_SR_EQMASK = 0x38, SASS_SR_LTMASK = 0x39, SASS_SR_RANK = 0x88 };
struct sass_insn sass_special(unsigned to, enum sass_special what, unsigned board);
/* The lane's own bit of such a register, when scoreboard 0 says so. */
struct sass_insn sass_own_lane(unsigned reg);
/* What a vote of the lane alone is: `own` where its predicate holds, else 0. */
struct sass_insn sass_vote_alone(struct sass_insn vote, unsigned own);
/* What a MATCH.ANY of the lane alone is: `own`. */
struct sass_insn sass_match_alone(struct sass_insn match, unsigned own);
/* A predicate that can be read SASS_PREDICATE_TIME cycles later: is the register the number, or is it not? */
struct sass_insn sass_is(unsigned predicate, unsigned reg, uint32_t number, bool equal);
#define SASS_PREDICATE_TIME 13
/* Likewise: do both hold? */
struct sass_insn sass_both(unsigned to, unsigned a, bool a_negated, unsigned b, bool b_negated);
/* Likewise: do two hold, with a bit for negation above them, and one of the warp's own? */
struct sass_insn sass_both_and_warps(unsigned to, unsigned a, unsigned b, unsigned warps);
/* All predicates into a register, and back: SASS_PREDICATE_TIME as well. */
struct sass_insn sass_keep_predicates(unsigned reg);
struct sass_insn sass_restore_predicates(unsigned reg);
/* A register, a uniform one, or a number into a register; a register's lowest bits; one times a scale and another; it and a number;
 * one times `number` and two registers that are a sum of 64 bits. All can be read SASS_MOVE_TIME cycles later. */
struct sass_insn sass_move(unsigned to, unsigned from);
struct sass_insn sass_move_uniform(unsigned to, unsigned from);
struct sass_insn sass_move_number(unsigned to, uint32_t number);
struct sass_insn sass_cut(unsigned to, unsigned from, uint32_t mask);
struct sass_insn sass_and(unsigned to, unsigned a, unsigned b);
struct sass_insn sass_scaled_sum(unsigned to, unsigned from, uint32_t scale, unsigned and);
struct sass_insn sass_sum(unsigned to, int32_t number);
struct sass_insn sass_sum_wide(unsigned to, unsigned one, int32_t number, unsigned from);
/* The number without a register; all ones if that is below 0, else 0; the bits of one that another has not. Likewise. */
struct sass_insn sass_difference(unsigned to, int32_t number, unsigned without);
struct sass_insn sass_sign(unsigned to, unsigned of);
struct sass_insn sass_without(unsigned to, unsigned from, unsigned mask);
/* One without another; one times another; likewise. A predicate as of sass_is(): are the two not the same? */
struct sass_insn sass_minus(unsigned to, unsigned from, unsigned without);
struct sass_insn sass_product(unsigned to, unsigned a, unsigned b);
struct sass_insn sass_differ(unsigned predicate, unsigned a, unsigned b);
/* A word of c[0x0], how many bits are set, the word of shared memory before something is added: when the scoreboard says so. */
struct sass_insn sass_launch_word(unsigned to, unsigned off, unsigned board);
struct sass_insn sass_how_many(unsigned to, unsigned of, unsigned board);
struct sass_insn sass_add_shared(const struct sass_arch *arch, unsigned to, unsigned address, int32_t off, unsigned value, unsigned board);
struct sass_insn sass_put_shared(unsigned address, int32_t off, unsigned value);
/* All lanes of the block wait for each other; those for which the predicate holds end. */
struct sass_insn sass_meet(const struct sass_arch *arch);
struct sass_insn sass_end_if(unsigned predicate);
/* What is in global memory at the address in two registers, so wide as 73..75 of accesses have it; who calls it gives it a scoreboard. */
struct sass_insn sass_load(const struct sass_arch *arch, unsigned to, unsigned address, unsigned width);
#define SASS_WIDTH_32 4
#define SASS_WIDTH_64 5
/* A register, which has the same in all lanes that are here, into a uniform one; before sm_90 scoreboard 5 tells when. */
struct sass_insn sass_make_uniform(const struct sass_arch *arch, unsigned to, unsigned from);
#define SASS_MOVE_TIME 6

#endif
