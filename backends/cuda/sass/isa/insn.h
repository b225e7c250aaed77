/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One instruction. The hardware executes its 128 bits (struct sass_word); all analyses and passes use struct sass_insn.
 * fields.def lists the fields, isa.def the operations and forms.
 */
#ifndef GPUBPF_SASS_INSN_H
#define GPUBPF_SASS_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SASS_INSN 16               /* size of an instruction in bytes */
#define SASS_RZ 255                /* the register that reads as zero; in 6-bit uniform fields it is SASS_URZ */
#define SASS_URZ 63
#define SASS_PT 7                  /* the predicate that is always true */
#define SASS_NEGATED 8             /* bit of a predicate operand: the condition is negated */
#define SASS_NEVER (SASS_PT | SASS_NEGATED) /* the guard of an instruction that never executes */
#define SASS_OPERANDS 4
#define SASS_CONTROL_AT 105        /* bit position of the control word */
#define SASS_NO_SCOREBOARD 7
#define SASS_SCOREBOARDS 6

struct sass_word {
	uint64_t lo, hi;
};

/* A register operand. If the form of the instruction lists no operand there, `reg` holds the 8 bits of the field. */
struct sass_operand {
	uint8_t reg;       /* the operand consists of registers reg to reg + n - 1 */
	uint8_t n : 3;     /* 0 for RZ and URZ, and where there is no operand */
	uint8_t width : 3; /* number of registers that the operand has unless it is RZ or URZ */
	bool uniform : 1, written : 1;
	uint8_t rest; /* bits of the field above the number of a uniform register */
};

struct sass_insn {
	uint32_t at;     /* index of the instruction in the code that it was read from; 0 for a built instruction */
	uint32_t high;   /* the upper 24 bits of an immediate or of a constant operand */
	uint16_t opcode; /* sass_op() and sass_form() return its rows in the tables */
	uint16_t mode;   /* modifiers, whose meaning depends on the opcode, like that of `modifiers` */
	uint8_t modifiers, unused;
	uint8_t guard;                      /* the predicate under which the instruction executes, plus SASS_NEGATED
	                                     * if negated. `in` and `carry`, predicates that it reads, have the same
	                                     * encoding. */
	uint8_t in, carry, out, second_out; /* out, second_out: the predicates that the instruction writes */
	bool wide;                          /* the instruction works on 64 bits at once; such instructions exist from
	                                     * sm_120 on */
	/* the control word */
	uint8_t stall;                   /* cycles until the next instruction issues */
	uint8_t yield;                   /* a hint, which excludes long stalls */
	uint8_t write_board, read_board; /* scoreboards that the instruction sets for its write and for its reads */
	uint8_t waits;                   /* mask of the scoreboards that the instruction waits for */
	uint8_t reuse;                   /* a bit per operand that stays in the reuse cache for the next instruction */
	struct sass_operand operand[SASS_OPERANDS]; /* the destination, and sources A, B, C */
};

struct sass_insn sass_decode(struct sass_word word);

#define SASS_BITS(at, bits) (((1ull << (bits)) - 1) << (at) % 64)

static inline struct sass_word sass_encode(struct sass_insn i)
{
	struct sass_word w = { 0, 0 };

#define SASS_FIELD(member, at, bits) *((at) < 64 ? &w.lo : &w.hi) |= (uint64_t)i.member << (at) % 64;
#define SASS_REGISTER_FIELD(o, at) \
	*((at) < 64 ? &w.lo : &w.hi) |= (uint64_t)(i.operand[o].reg | i.operand[o].rest) << (at) % 64;
#include "fields.def"
	return w;
}

static inline struct sass_word sass_read_word(const uint8_t *at)
{
	struct sass_word word;

	memcpy(&word, at, sizeof(word)); /* cubins are little-endian, like every host of a driver */
	return word;
}

static inline struct sass_insn sass_read(const uint8_t *at)
{
	return sass_decode(sass_read_word(at));
}

static inline void sass_write(uint8_t *at, struct sass_insn insn)
{
	struct sass_word word = sass_encode(insn);

	memcpy(at, &word, sizeof(word));
}

static inline bool sass_is_same(struct sass_insn a, struct sass_insn b)
{
	struct sass_word x = sass_encode(a), y = sass_encode(b);

	return x.lo == y.lo && x.hi == y.hi;
}

/* Are the instructions equal, except for the control word? */
static inline bool sass_is_same_except_control(struct sass_insn a, struct sass_insn b)
{
	struct sass_word x = sass_encode(a), y = sass_encode(b);

	return x.lo == y.lo && !((x.hi ^ y.hi) << (128 - SASS_CONTROL_AT));
}

/* sass_with_guard() and so on: each function returns the instruction with another value of one field. Key fields
 * have no such function, because an instruction with another key must be decoded again. */
#define SASS_FIELD(member, at, bits)                                                                \
	static inline struct sass_insn sass_with_##member(struct sass_insn i, unsigned value)        \
	{                                                                                           \
		i.member = value & ((1u << (bits)) - 1);                                            \
		return i;                                                                           \
	}
#define SASS_KEY_FIELD(member, at, bits)
#include "fields.def"

/* Returns all bits of an operand's field. If the instruction has no form, a field that holds no register counts as a
 * register. */
static inline unsigned sass_operand_bits(struct sass_insn i, unsigned o)
{
	return i.operand[o].reg | i.operand[o].rest;
}

/* how an instruction uses a register */
enum sass_use { SASS_READS = 1, SASS_WRITES = 2, SASS_USES = SASS_READS | SASS_WRITES };

/* Does the instruction use one of the registers of x in this way? */
static inline bool sass_uses(struct sass_insn i, const struct sass_operand *x, enum sass_use how)
{
	for (unsigned o = 0; o < SASS_OPERANDS; o++) {
		const struct sass_operand *y = &i.operand[o];

		if (how & (y->written ? SASS_WRITES : SASS_READS) && x->n && y->n && x->uniform == y->uniform &&
		    x->reg < y->reg + y->n && y->reg < x->reg + x->n)
			return true;
	}
	return false;
}

/* Adds `by` to the number of each register. */
static inline void sass_shift_registers(struct sass_insn *i, unsigned by)
{
	for (unsigned o = 0; o < SASS_OPERANDS; o++)
		if (i->operand[o].n)
			i->operand[o].reg += by;
}

/* Returns one register as an operand. */
static inline struct sass_operand sass_register(uint32_t reg, bool uniform)
{
	return (struct sass_operand){ .reg = reg, .n = 1, .uniform = uniform };
}

/* Returns the instruction with register `reg` as operand o. */
static inline struct sass_insn sass_with_reg(struct sass_insn i, unsigned o, unsigned reg)
{
	struct sass_operand *x = &i.operand[o];

	x->reg = x->uniform ? reg & SASS_URZ : reg;
	x->n = x->reg == (x->uniform ? SASS_URZ : SASS_RZ) ? 0 : x->width;
	return i;
}

#endif
