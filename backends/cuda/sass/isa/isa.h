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

#include "insn.h"

#define SASS_REGS_MAX 255

/* how an operation completes; inserted code before or after it depends on this */
enum sass_class {
	SASS_UNKNOWN,
	SASS_FIXED,    /* fixed latency: the compiler knows after how many cycles the result is ready */
	SASS_SLOW,     /* variable latency: a scoreboard says when registers are read and written. An
	                            * operation may lack one if a later operation of the same in-order unit has one. */
	SASS_LOAD,     /* like SLOW, but compilers omit the scoreboard if the result is dead */
	SASS_STORE,    /* like LOAD, but compilers omit the scoreboard if nothing rewrites the sources. A store reads
	                * its sources after issue and writes no register. */
	SASS_ASYNC,    /* continues asynchronously; code waits for its results in another way than by a scoreboard */
	SASS_SYNC,     /* waits for other threads, orders memory, or is a hint; writes no register */
	SASS_BRANCH,   /* a relative branch */
	SASS_INDIRECT, /* a branch to an address in registers */
	SASS_CALL_ABSOLUTE,
	SASS_EXIT,
	SASS_MAXREG, /* USETMAXREG */
};

/* properties of operations (traits.def) */
enum sass_trait {
	SASS_PURE = 1 << 0,                  /* its only effect is its result */
	SASS_PURE_VALUE = 1 << 1,            /* its only effect is its result, unless it writes a predicate */
	SASS_TIMED = 1 << 2,                 /* the scheduler of probes knows its latency */
	SASS_MOVABLE = 1 << 3,               /* compilers begin kernels with such an operation, and it can execute at
	                                      * another address */
	SASS_DOUBLES = 1 << 4,               /* has a fixed latency on some architectures (struct sass_arch) */
	SASS_UNIFORM_RESULT = 1 << 5,        /* completes after issue and writes a uniform register */
	SASS_UNIFORM_GUARD = 1 << 6,         /* its guard is a uniform predicate */
	SASS_SLOW_PREDICATE = 1 << 7,        /* writes the predicate `out` with variable latency */
	SASS_SLOW_SECOND_PREDICATE = 1 << 8, /* writes the predicate `second_out` with variable latency */
	SASS_SLOW_ANY_PREDICATE = 1 << 9,    /* writes a predicate in an unknown field with variable latency */
	SASS_EXCHANGES_LANES = 1 << 10,      /* its result depends on other lanes */
	SASS_INDEPENDENT = 1 << 11,          /* synchronizes, but executes for each lane separately */
	SASS_OWN_MEMORY = 1 << 12,           /* accesses local memory */
	SASS_SYNCHRONIZES = 1 << 13,         /* waits for other threads of the block or cluster */
	SASS_NAMES_BARRIER = 1 << 14,        /* names a convergence barrier */
	SASS_WRITES_ALL_PREDICATES = 1 << 15,
	SASS_CARRIES = 1 << 16,       /* reads a carry sooner than other instructions read a predicate */
	SASS_MAKES_CARRY = 1 << 17,   /* writes a predicate that can be read early as a carry */
	SASS_HALVES = 1 << 18,        /* arithmetic of half precision, or of integers in the half-precision unit */
	SASS_SHORT = 1 << 19,         /* a slow operation that completes sooner than other slow operations */
	SASS_ORDERED = 1 << 20,       /* an operation with SASS_TIMED that has an effect; the scheduler keeps the
	                               * order of these */
	SASS_READS_SPECIAL = 1 << 21, /* reads a special register */
	SASS_IN_PLACE = 1 << 22,      /* cannot be moved to another address */
};

struct sass_op {
	const char *name;
	enum sass_class class;
	uint32_t traits; /* bits of enum sass_trait */
};

/* properties that differ between architectures */
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

#define SASS_OPERATIONS 512        /* the remainder of an opcode by this number is its operation */

/* operations (bits 0..8 of an opcode) by name */
enum sass_operation {
#define SASS_OP(number, name, class) SASS_OPERATION_##name = number,
#include "isa.def"
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
	SASS_OP_ATOMS_CAST = 0x38d,
	SASS_OP_CALL_NAMED = 0x943,     /* CALL.ABS of an immediate address */
	SASS_OP_CALL_REGISTER = 0x344,  /* CALL.REL of a register, which counts from the start of the section */
	SASS_OP_WARPSYNC_LANES = 0x348, /* WARPSYNC of the lanes in a register */
};

const struct sass_arch *sass_arch_find(uint32_t sm); /* returns NULL if the architecture is unknown */
extern struct sass_op sass_ops[];
/* Returns the row of the opcode's operation. Its class is SASS_UNKNOWN if the operation is unknown. */
static inline const struct sass_op *sass_op_find(uint32_t opcode)
{
	return &sass_ops[opcode % SASS_OPERATIONS];
}

/* Returns the row of the operation: name, class, traits. */
static inline const struct sass_op *sass_op(struct sass_insn i)
{
	return &sass_ops[i.opcode % SASS_OPERATIONS];
}

static inline uint32_t sass_opcode(struct sass_insn i)
{
	return i.opcode;
}

static inline bool sass_is(struct sass_insn i, enum sass_operation operation)
{
	return i.opcode % SASS_OPERATIONS == operation;
}

static inline bool sass_has(struct sass_insn i, enum sass_trait trait)
{
	return sass_op(i)->traits & trait;
}

/* Bit positions of the control fields. STALL: number of cycles until the next instruction issues. YIELD: a hint, which
 * excludes long stalls. WRITE, READ: scoreboards that the instruction sets for its write and its reads (7: none).
 * WAIT: mask of the scoreboards that the instruction waits for. */
enum sass_control {
	SASS_STALL_AT = 105,
	SASS_YIELD_AT = 109,
	SASS_WRITE_AT = 110,
	SASS_READ_AT = 113,
	SASS_WAIT_AT = 116,
	SASS_REUSE_AT = 122, /* a bit per operand: the operand stays in the reuse cache for the next instruction */
};
#define SASS_SCOREBOARD_CYCLES 2                /* cycles from the issue of an instruction until a wait sees the
                                                 * scoreboard that it sets */
#define SASS_STALL_MAX 15

static inline unsigned sass_stall(struct sass_insn i)
{
	return i.stall;
}

/* Returns the minimum number of cycles until the next instruction issues. Stall 0 without the yield hint counts as
 * SASS_STALL_LONG. Compilers encode ERRBAR in this way. The instruction after ERRBAR then reads results of the
 * instruction before ERRBAR, even those with the longest fixed latency. */
#define SASS_STALL_LONG 16

static inline unsigned sass_min_cycles(struct sass_insn i)
{
	return i.stall || i.yield ? sass_stall(i) : SASS_STALL_LONG;
}

static inline unsigned sass_write_board(struct sass_insn i)
{
	return i.write_board;
}

static inline unsigned sass_read_board(struct sass_insn i)
{
	return i.read_board;
}

static inline unsigned sass_wait_mask(struct sass_insn i)
{
	return i.waits;
}

/* Returns the scoreboards that the instruction sets, as bits. */
static inline unsigned sass_boards_set(struct sass_insn i)
{
	return (1u << sass_write_board(i) | 1u << sass_read_board(i)) & ((1u << SASS_SCOREBOARDS) - 1);
}

/* sass_convergence_barrier() returns the convergence barrier that the instruction names; -1: none. BSSY, BSYNC and
 * BREAK name a barrier. So do the BMOVs that clear a barrier (into a register or RZ) and fill it again.
 * sass_with_convergence_barrier() returns the instruction with another barrier. */
int sass_convergence_barrier(struct sass_insn i);
struct sass_insn sass_with_convergence_barrier(struct sass_insn i, unsigned barrier);

/* Returns the instruction with another opcode, whose form says what the fields mean. */
struct sass_insn sass_with_opcode(struct sass_insn i, unsigned opcode);
/* Returns the size of a memory access as the instruction encodes it: SASS_WIDTH_32 and so on. */
static inline unsigned sass_access_width(struct sass_insn i)
{
	return i.modifiers >> 1 & 7;
}
struct sass_insn sass_with_access_width(struct sass_insn i, unsigned width);
/* Returns the 32-bit immediate of the instruction. */
static inline uint32_t sass_immediate(struct sass_insn i)
{
	return i.operand[2].reg | i.operand[2].rest | i.high << 8;
}
/* Returns the number of the special register that S2R, S2UR or CS2R reads. */
static inline unsigned sass_special_register(struct sass_insn i)
{
	return i.modifiers | (i.carry & 7u) << 5;
}

/* Does the instruction always execute? */
static inline bool sass_is_unconditional(struct sass_insn i)
{
	return i.guard == SASS_PT && i.in == SASS_PT;
}

/* Returns the instruction with another guard predicate. The negation of the guard does not change. */
static inline struct sass_insn sass_under(struct sass_insn i, unsigned predicate)
{
	return sass_with_guard(i, (i.guard & SASS_NEGATED) | predicate);
}

/* Returns the number of instructions of the preamble, or 0 if the code has no preamble. All code for sm_87 begins
 * with a preamble, which sets the convergence barriers once per warp. */
uint32_t sass_preamble(const struct sass_arch *arch, const uint8_t *bytes, uint32_t n);

/* bit .U of BRA, in the field of operand B: a promise that all lanes branch the same way */
#define SASS_ALL_LANES 1u

/* sass_branch(): returns the number of bytes from the end of a relative branch to its target. sass_with_branch():
 * returns the branch with another such offset. */
int64_t sass_branch(const struct sass_arch *arch, struct sass_insn i);
struct sass_insn sass_with_branch(const struct sass_arch *arch, struct sass_insn i, int64_t offset);

/* Returns the instruction with these wait and stall fields and no scoreboards; the yield and reuse bits stay. */
struct sass_insn sass_with_control(struct sass_insn i, unsigned waits, unsigned stall);
/* The functions below build the instructions that the target inserts. */
struct sass_insn sass_nop(unsigned waits, unsigned stall);
struct sass_insn sass_bra(const struct sass_arch *arch, int64_t offset);
struct sass_insn sass_warpsync_all(void);
struct sass_insn sass_break(unsigned barrier);
/* BSSY: lanes that are converged here reconverge at the BSYNC of the barrier. `offset` is the number of bytes from
 * the end of the BSSY to the instruction at which the lanes continue. */
struct sass_insn sass_bssy(unsigned barrier, int64_t offset);
struct sass_insn sass_bsync(unsigned barrier);
/* VOTE: writes the mask of the lanes that are converged here. The mask is readable SASS_VOTE_CYCLES cycles later. In the
 * code of ptxas 13.0 the first reader follows 4 cycles later (sm_75 to sm_100) or 5 (sm_120). */
struct sass_insn sass_vote(unsigned reg);
#define SASS_VOTE_CYCLES 12
/* S2R: reads a special register. Scoreboard `board` says when the result is readable. */
enum sass_special { SASS_SR_SHARED_SIZE = 0x32, SASS_SR_EQMASK = 0x38, SASS_SR_LTMASK = 0x39, SASS_SR_RANK = 0x88 };
struct sass_insn sass_special(unsigned to, enum sass_special what, unsigned board);
/* S2R: reads the mask in which only the lane's own bit is set. Scoreboard 0 says when the result is readable. */
struct sass_insn sass_lane_bit(unsigned reg);
/* Returns the replacement of a VOTE for a lane that runs alone. It is a SEL of `own`, the register with the lane's
 * bit, if the predicate of the VOTE holds, and of 0 otherwise. */
struct sass_insn sass_vote_alone(struct sass_insn vote, unsigned own);
/* Returns the replacement of a MATCH.ANY for a lane that runs alone: a copy of `own`. */
struct sass_insn sass_match_alone(struct sass_insn match, unsigned own);
/* ISETP: compares the register with the number, for equality if `equal` is true, else for inequality. The predicate
 * is readable SASS_PREDICATE_CYCLES cycles later. */
struct sass_insn sass_isetp_imm(unsigned predicate, unsigned reg, uint32_t number, bool equal);
#define SASS_PREDICATE_CYCLES 13
/* PLOP3: AND of two predicates, readable SASS_PREDICATE_CYCLES cycles later. */
struct sass_insn sass_and_predicates(unsigned to, unsigned a, bool a_negated, unsigned b, bool b_negated);
/* PLOP3: AND of two lane predicates, negated if bit 3 is set, and of uniform predicate `warps`; readable
 * SASS_PREDICATE_CYCLES cycles later. */
struct sass_insn sass_and_predicates_uniform(unsigned to, unsigned a, unsigned b, unsigned warps);
/* P2R and R2P: the first saves all predicates in a register, which is readable SASS_MOVE_CYCLES cycles later. The
 * second restores them; the predicates are readable SASS_PREDICATE_CYCLES cycles later. */
struct sass_insn sass_save_predicates(unsigned reg);
struct sass_insn sass_restore_predicates(unsigned reg);
/* Builders of instructions that write to register `to`. In this order, they write: register `from`, uniform register
 * `from`, an immediate, `from` & mask, `a` & `b`, `from` * scale + register `and`, `to` + number. The last one writes
 * to a register pair the 64-bit sum of `one` * number and register pair `from`. All results are readable
 * SASS_MOVE_CYCLES cycles later. */
struct sass_insn sass_move(unsigned to, unsigned from);
struct sass_insn sass_move_uniform(unsigned to, unsigned from);
struct sass_insn sass_move_imm(unsigned to, uint32_t number);
struct sass_insn sass_and_imm(unsigned to, unsigned from, uint32_t mask);
struct sass_insn sass_and(unsigned to, unsigned a, unsigned b);
struct sass_insn sass_mul_add(unsigned to, unsigned from, uint32_t scale, unsigned and);
struct sass_insn sass_add_imm(unsigned to, int32_t number);
struct sass_insn sass_mul_add_wide(unsigned to, unsigned one, int32_t number, unsigned from);
/* In this order, these instructions write to register `to`: number - `without`, a mask of the sign of `of` (all ones if
 * negative, else 0), `from` & ~`mask`. All results are readable SASS_MOVE_CYCLES cycles later. */
struct sass_insn sass_sub_from_imm(unsigned to, int32_t number, unsigned without);
struct sass_insn sass_sign_mask(unsigned to, unsigned of);
struct sass_insn sass_and_not(unsigned to, unsigned from, unsigned mask);
/* The first two instructions write `from` - `without` and `a` * `b` to register `to`, readable SASS_MOVE_CYCLES cycles
 * later. The third writes a predicate, which is true if the registers differ and is readable after the latency of
 * sass_isetp_imm(). */
struct sass_insn sass_sub(unsigned to, unsigned from, unsigned without);
struct sass_insn sass_mul(unsigned to, unsigned a, unsigned b);
struct sass_insn sass_isetp_ne(unsigned predicate, unsigned a, unsigned b);
/* The first three functions build LDC, which loads a word of c[0x0], POPC, and ATOMS.ADD, whose result is the word
 * before the addition. Scoreboard `board` says when the result is readable. The last function builds STS, which sets no
 * scoreboard. */
struct sass_insn sass_load_launch_word(unsigned to, unsigned off, unsigned board);
struct sass_insn sass_popc(unsigned to, unsigned of, unsigned board);
struct sass_insn sass_atomic_add_shared(const struct sass_arch *arch, unsigned to, unsigned address, int32_t off,
					unsigned value, unsigned board);
struct sass_insn sass_store_shared(unsigned address, int32_t off, unsigned value);
/* BAR.SYNC: all threads of the block wait for each other. The second function returns an EXIT of the lanes for which
 * the predicate holds. */
struct sass_insn sass_bar_sync(const struct sass_arch *arch);
struct sass_insn sass_exit_if(unsigned predicate);
/* LDG from the address in registers `address` and `address` + 1; `width` is the value of bits 73..75. The caller
 * adds a scoreboard. */
struct sass_insn sass_load(const struct sass_arch *arch, unsigned to, unsigned address, unsigned width);
#define SASS_WIDTH_32 4
#define SASS_WIDTH_64 5
/* R2UR: moves a register to a uniform register. The register must have the same value in all active lanes. Before
 * sm_90 scoreboard 5 says when the result is readable. */
struct sass_insn sass_move_to_uniform(const struct sass_arch *arch, unsigned to, unsigned from);
#define SASS_MOVE_CYCLES 6

#endif
