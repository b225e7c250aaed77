/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instruction set of NVIDIA GPUs since Volta (SASS): 128 bits per instruction. The tables come from disassemblies
 * of compiled code and from runs on an H200. The target refuses every instruction that the tables do not name.
 *
 *   Bits 0..11: opcode; 0..8 are the operation, 9..11 the form of its operands.
 *   Bits 12..15: predicate (guard); bit 15 negates it.
 *   Bits 16..23: destination. Sources A, B, C: 24..31, 32..39, 64..71. An immediate or a constant: 32..63.
 *   Bits 105..125: control, the same for all.
 */
#ifndef GPUBPF_SASS_ISA_H
#define GPUBPF_SASS_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SASS_INSN 16               /* bytes */
#define SASS_RZ 255                /* the register that reads as zero; in 6-bit uniform fields it is SASS_URZ */
#define SASS_URZ 63
#define SASS_PT 7                  /* the predicate that is always true */
#define SASS_REGS_MAX 255

struct sass_insn {
	uint64_t lo, hi;
};

/* how an operation completes; inserted code before or after it depends on this */
enum sass_class {
	SASS_UNKNOWN,
	SASS_FIXED,    /* fixed latency: the compiler knows after how many cycles the result is ready */
	SASS_SLOW,     /* variable latency: a scoreboard says when registers are read and written. An
	                            * operation may lack one if a later operation of the same in-order unit has one. */
	SASS_LOAD,     /* like SLOW, but compilers omit the scoreboard if the result is dead */
	SASS_STORE,    /* like LOAD: compilers omit the scoreboard if nothing rewrites the sources. It
	                            * reads them after issue and writes no register. */
	SASS_ASYNC,    /* continues asynchronously; code waits for its results by other means */
	SASS_SYNC,     /* waits for other threads, orders memory, or is a hint; writes no register */
	SASS_BRANCH,   /* a relative branch */
	SASS_INDIRECT, /* a branch to an address in registers */
	SASS_CALL_ABSOLUTE,
	SASS_EXIT,
	SASS_MAXREG, /* USETMAXREG */
};

struct sass_op {
	const char *name;
	enum sass_class class;
};

/* what differs between architectures */
struct sass_arch {
	uint32_t sm;
	bool wide_branch;    /* bits 16..23 hold the low 8 bits of a branch's offset / 4 */
	uint32_t params;     /* offset of a kernel's parameters in c[0x0] */
	uint32_t descriptor; /* offset in c[0x0] of the descriptor of global memory; 0: none */
	uint32_t extents;    /* offset in c[0x0] of the block's dimensions, 4 bytes per axis */
	uint32_t reserved;   /* offset in c[0x0] of the bytes of shared memory that the system reserves; 0:
	                            * none */
	bool timed_doubles;  /* arithmetic of doubles has a fixed latency and no scoreboards */
};

/* opcodes that the C code uses by name; isa.def lists all */
enum sass_opcode {
	SASS_OP_BRA = 0x947,
	SASS_OP_BRA_U = 0x547,
	SASS_OP_EXIT = 0x94d,
	SASS_OP_NOP = 0x918,
	SASS_OP_BSSY = 0x945,
	SASS_OP_BSYNC = 0x941,
	SASS_OP_CALL_REL = 0x944,
	SASS_OP_BREAK = 0x942,
	SASS_OP_WARPSYNC_ALL = 0x948,
	SASS_OP_YIELD = 0x946,
	SASS_OP_CALL_ABS = 0x343,
	SASS_OP_VOTE = 0x806,
	SASS_OP_LDC = 0xb82,
	SASS_OP_BRX = 0x949,
	SASS_OP_BRXU = 0x958,
	SASS_OP_RET = 0x950,
	SASS_OP_BMOV_CLEAR = 0x355,
	SASS_OP_BMOV_FILL = 0x356,
	SASS_OP_P2R = 0x803,
	SASS_OP_R2P = 0x804,
	SASS_OP_S2R = 0x919,
	SASS_OP_STS = 0x388,
	SASS_OP_ATOMS = 0x38c,
	SASS_OP_BAR = 0xb1d,
	SASS_OP_MATCH = 0x3a1,
	SASS_OP_REDUX = 0x3c4,
	SASS_OP_R2UR = 0x2ca,
	SASS_OP_PLOP3 = 0x81c,
};

const struct sass_arch *sass_arch_find(uint32_t sm); /* NULL: the architecture is unknown */
const struct sass_op *sass_op_find(uint32_t opcode); /* class SASS_UNKNOWN if the opcode is unknown */

static inline struct sass_insn sass_read(const uint8_t *at)
{
	struct sass_insn insn;

	memcpy(&insn, at, sizeof(insn)); /* cubins are little-endian, like every host of a driver */
	return insn;
}

static inline uint32_t sass_opcode(struct sass_insn i)
{
	return i.lo & 0xfff;
}

/* Returns a field that begins at bit `at` and does not cross bit 64. */
static inline uint64_t sass_field(struct sass_insn i, unsigned at, unsigned bits)
{
	return (at < 64 ? i.lo >> at : i.hi >> (at - 64)) & ((1ull << bits) - 1);
}

static inline struct sass_insn sass_with_field(struct sass_insn i, unsigned at, unsigned bits, uint64_t value)
{
	uint64_t *word = at < 64 ? &i.lo : &i.hi, mask = ((1ull << bits) - 1) << at % 64;

	*word = (*word & ~mask) | (value << at % 64 & mask);
	return i;
}

/* Bit positions of the control fields: stall cycles until the next instruction issues; yield hint; scoreboards that
 * the instruction sets for its write and its reads (7: none); mask of the scoreboards that it waits for. The yield
 * hint excludes long stalls. */
enum sass_control {
	SASS_STALL_AT = 105,
	SASS_YIELD_AT = 109,
	SASS_WRITE_AT = 110,
	SASS_READ_AT = 113,
	SASS_WAIT_AT = 116,
	SASS_REUSE_AT = 122, /* a bit per operand that stays in the reuse cache for the next instruction */
};
#define SASS_NO_SCOREBOARD 7
#define SASS_SCOREBOARDS 6
#define SASS_SCOREBOARD_CYCLES 2                /* cycles after the issue of an instruction until a wait sees the
                                                 * scoreboard that it sets */
#define SASS_STALL_MAX 15

static inline unsigned sass_stall(struct sass_insn i)
{
	return sass_field(i, SASS_STALL_AT, 4);
}

/* Returns the minimum number of cycles until the next instruction issues. Stall 0 without the yield hint counts as
 * SASS_STALL_LONG: compilers encode ERRBAR so, and the instruction after it reads results of the instruction before
 * it, even the slowest with a fixed latency. */
#define SASS_STALL_LONG 16

static inline unsigned sass_min_cycles(struct sass_insn i)
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

static inline unsigned sass_wait_mask(struct sass_insn i)
{
	return sass_field(i, SASS_WAIT_AT, 6);
}

/* Returns the scoreboards that the instruction sets, as bits. */
static inline unsigned sass_boards_set(struct sass_insn i)
{
	return (1u << sass_write_board(i) | 1u << sass_read_board(i)) & ((1u << SASS_SCOREBOARDS) - 1);
}

/* Returns the bit position of the field that names a convergence barrier; 0: the instruction names none. BSSY, BSYNC
 * and BREAK have one, and the BMOVs that clear a barrier (into a register or RZ) and fill it again. */
static inline unsigned sass_barrier_at(struct sass_insn i)
{
	switch (sass_opcode(i)) {
	case SASS_OP_BSSY:
	case SASS_OP_BSYNC:
	case SASS_OP_BREAK:
		return 16;
	case SASS_OP_BMOV_CLEAR:
	case SASS_OP_BMOV_FILL:
		return 24;
	default:
		return 0;
	}
}

/* Does the instruction always execute? */
static inline bool sass_is_unconditional(struct sass_insn i)
{
	return sass_field(i, 12, 4) == SASS_PT && sass_field(i, 87, 4) == SASS_PT;
}

/* Returns the number of instructions of the preamble with which all code for sm_87 begins: it sets the convergence
 * barriers once per warp. 0: the code has none. */
uint32_t sass_preamble(const struct sass_arch *arch, const uint8_t *bytes, uint32_t n);

/* bit .U of BRA, which promises that all lanes branch the same way */
#define SASS_UNIFORM_AT 32

/* sass_branch(): returns the bytes from the end of a relative branch to its target. sass_with_branch(): returns the
 * branch with another offset. */
int64_t sass_branch(const struct sass_arch *arch, struct sass_insn i);
struct sass_insn sass_with_branch(const struct sass_arch *arch, struct sass_insn i, int64_t offset);

/* Returns the instruction with these wait and stall fields and no scoreboards; the yield and reuse bits stay. */
struct sass_insn sass_with_control(struct sass_insn i, unsigned waits, unsigned stall);
/* Builders of the instructions that the target inserts. */
struct sass_insn sass_nop(unsigned waits, unsigned stall);
struct sass_insn sass_bra(const struct sass_arch *arch, int64_t offset);
struct sass_insn sass_warpsync_all(void);
struct sass_insn sass_break(unsigned barrier);
/* BSSY: lanes that are converged here reconverge at the barrier's BSYNC. `offset`: bytes from the end of BSSY to the
 * instruction at which they continue. */
struct sass_insn sass_bssy(unsigned barrier, int64_t offset);
struct sass_insn sass_bsync(unsigned barrier);
/* VOTE: the mask of the lanes that are converged here, which is readable SASS_VOTE_CYCLES cycles later. */
struct sass_insn sass_vote(unsigned reg);
#define SASS_VOTE_CYCLES 12
/* S2R: a special register; the scoreboard says when it is readable. */
enum sass_special { SASS_SR_SHARED_SIZE = 0x32, SASS_SR_EQMASK = 0x38, SASS_SR_LTMASK = 0x39, SASS_SR_RANK = 0x88 };
struct sass_insn sass_special(unsigned to, enum sass_special what, unsigned board);
/* S2R of the mask with the lane's bit alone; scoreboard 0 says when it is readable. */
struct sass_insn sass_lane_bit(unsigned reg);
/* Returns the replacement of a VOTE for a lane that runs alone: SEL of `own`, the register with the lane's bit, if
 * its predicate holds, else of 0. */
struct sass_insn sass_vote_alone(struct sass_insn vote, unsigned own);
/* Returns the replacement of a MATCH.ANY for a lane that runs alone: a copy of `own`. */
struct sass_insn sass_match_alone(struct sass_insn match, unsigned own);
/* ISETP: is the register equal to the number (`equal`), or different? The predicate is readable
 * SASS_PREDICATE_CYCLES cycles later. */
struct sass_insn sass_isetp_imm(unsigned predicate, unsigned reg, uint32_t number, bool equal);
#define SASS_PREDICATE_CYCLES 13
/* PLOP3: AND of two predicates, readable SASS_PREDICATE_CYCLES cycles later. */
struct sass_insn sass_and_predicates(unsigned to, unsigned a, bool a_negated, unsigned b, bool b_negated);
/* PLOP3: AND of two lane predicates, negated if bit 3 is set, and of uniform predicate `warps`; readable
 * SASS_PREDICATE_CYCLES cycles later. */
struct sass_insn sass_and_predicates_uniform(unsigned to, unsigned a, unsigned b, unsigned warps);
/* P2R and R2P: save all predicates in a register, and restore them. The results are readable after SASS_MOVE_CYCLES
 * and SASS_PREDICATE_CYCLES. */
struct sass_insn sass_save_predicates(unsigned reg);
struct sass_insn sass_restore_predicates(unsigned reg);
/* In this order: move from a register, from a uniform register, and of an immediate; from & mask; a & b; from *
 * scale + and; to + number; and the 64-bit sum one * number + register pair `from`. All results are readable
 * SASS_MOVE_CYCLES cycles later. */
struct sass_insn sass_move(unsigned to, unsigned from);
struct sass_insn sass_move_uniform(unsigned to, unsigned from);
struct sass_insn sass_move_imm(unsigned to, uint32_t number);
struct sass_insn sass_and_imm(unsigned to, unsigned from, uint32_t mask);
struct sass_insn sass_and(unsigned to, unsigned a, unsigned b);
struct sass_insn sass_mul_add(unsigned to, unsigned from, uint32_t scale, unsigned and);
struct sass_insn sass_add_imm(unsigned to, int32_t number);
struct sass_insn sass_mul_add_wide(unsigned to, unsigned one, int32_t number, unsigned from);
/* In this order: number - without; all ones if `of` is negative, else 0; from & ~mask. All are readable
 * SASS_MOVE_CYCLES cycles later. */
struct sass_insn sass_sub_from_imm(unsigned to, int32_t number, unsigned without);
struct sass_insn sass_sign_mask(unsigned to, unsigned of);
struct sass_insn sass_and_not(unsigned to, unsigned from, unsigned mask);
/* In this order: from - without; a * b; both with the same latency. The third writes a predicate, as
 * sass_isetp_imm() does: do the registers differ? */
struct sass_insn sass_sub(unsigned to, unsigned from, unsigned without);
struct sass_insn sass_mul(unsigned to, unsigned a, unsigned b);
struct sass_insn sass_isetp_ne(unsigned predicate, unsigned a, unsigned b);
/* LDC of a word of c[0x0]; POPC; ATOMS.ADD, whose result is the word before the addition. Scoreboard `board` says
 * when the result is readable. STS sets no scoreboard. */
struct sass_insn sass_load_launch_word(unsigned to, unsigned off, unsigned board);
struct sass_insn sass_popc(unsigned to, unsigned of, unsigned board);
struct sass_insn sass_atomic_add_shared(const struct sass_arch *arch, unsigned to, unsigned address, int32_t off,
					unsigned value, unsigned board);
struct sass_insn sass_store_shared(unsigned address, int32_t off, unsigned value);
/* BAR.SYNC: all lanes of the block wait for each other. EXIT of the lanes for which the predicate holds. */
struct sass_insn sass_bar_sync(const struct sass_arch *arch);
struct sass_insn sass_exit_if(unsigned predicate);
/* LDG from the address in registers `address` and `address` + 1; `width` is the value of bits 73..75. The caller
 * adds a scoreboard. */
struct sass_insn sass_load(const struct sass_arch *arch, unsigned to, unsigned address, unsigned width);
#define SASS_WIDTH_32 4
#define SASS_WIDTH_64 5
/* R2UR: moves a register, which has the same value in all active lanes, to a uniform one. Before sm_90 scoreboard 5
 * says when the result is readable. */
struct sass_insn sass_move_to_uniform(const struct sass_arch *arch, unsigned to, unsigned from);
#define SASS_MOVE_CYCLES 6

#endif
