/* SPDX-License-Identifier: Apache-2.0 */
/* The registers and predicates that instructions of probes read and write, by the forms in isa.def. */
#ifndef GPUBPF_SASS_FORM_H
#define GPUBPF_SASS_FORM_H

#include "isa.h"

/* how demotion (backends/cuda/sass/probe/probe.c) turns an instruction with uniform operands into one with per-lane
 * registers */
enum sass_demotion {
	SASS_DEMOTE_AS,       /* only the opcode and the register fields change */
	SASS_DEMOTE_MOV,      /* a MOV: bits 72..75 also select all four bytes */
	SASS_DEMOTE_FROM_A,   /* R2UR becomes MOV: like DEMOTE_MOV, and the source moves from field A to field B */
	SASS_DEMOTE_SWAP,     /* the uniform operand is C, but in the field of B: the fields are swapped */
	SASS_DEMOTE_CONSTANT, /* ULDC or LDCU becomes LDC, whose result needs a scoreboard */
	SASS_DEMOTE_MEMORY,   /* an access to global memory: the field of its memory descriptor is cleared */
	SASS_DEMOTE_LOCAL,    /* an access to local memory at a uniform address gets a register address */
	SASS_DEMOTE_VIADD,    /* a sum of two operands becomes one of three */
	SASS_DEMOTE_SUM_64,   /* a sum of three operands, the last zero, becomes one of two */
	SASS_DEMOTE_BRANCH,   /* BRA.U: its uniform predicate is in field A, negated by bit 27, and moves to
	                            * field 87 */
};

/* fields that may name a predicate, with their bit position; instructions write those from SASS_P_OUT on, and some
 * read SASS_P_MASK */
enum sass_predicate_field {
	SASS_P_GUARD,  /* 12 */
	SASS_P_BRANCH, /* 24: the uniform predicate of BRA.U */
	SASS_P_LANES,  /* 64 */
	SASS_P_EX,     /* 68 */
	SASS_P_CARRY,  /* 77 */
	SASS_P_IN,     /* 87 */
	SASS_P_OUT,    /* 81 */
	SASS_P_SECOND, /* 84 */
	SASS_P_MASK,   /* 32: a set that is read or written */
	SASS_PREDICATE_FIELDS
};

struct sass_form {
	uint16_t opcode;
	char operands[5];                           /* a letter (isa.def) for each field in sass_operand_at[] */
	char predicates[SASS_PREDICATE_FIELDS + 1]; /* a letter (isa.def) for each field in sass_predicate_at[] */
	uint16_t becomes; /* opcode of the form with per-lane registers; 0: this form has no uniform
	                            * operands */
	enum sass_demotion how;
};

#define SASS_OPERANDS 4
extern const uint8_t sass_operand_at[SASS_OPERANDS];

static inline bool sass_is_uniform_kind(char kind) /* the letter of an operand */
{
	switch (kind) {
	case 'u':
	case 'U':
	case 'v':
	case 'V':
	case 'w':
	case 'n':
	case 'y':
		return true;
	default:
		return false;
	}
}

extern const uint8_t sass_predicate_at[SASS_PREDICATE_FIELDS];

/* Returns the form of an opcode; NULL: probes may not contain it. */
const struct sass_form *sass_form_find(uint32_t opcode);

/* Does the instruction use the uniform datapath? */
bool sass_is_uniform(struct sass_insn insn);

struct sass_operand {
	uint8_t at;     /* bit position of its field */
	uint8_t reg, n; /* registers reg to reg + n - 1; n is 0 for RZ and URZ */
	bool uniform, written;
};

/* How many registers an operand has: a number, or the bits of the instruction that encode it. */
enum sass_width {
	SASS_NO_OPERAND,
	SASS_ONE,
	SASS_TWO,
	SASS_BY_ACCESS,
	SASS_BY_ATOMIC,
	SASS_TWO_IF_WIDE,
	SASS_TWO_BY_72,
	SASS_TWO_BY_73,
	SASS_ONE_BY_91,
};
unsigned sass_width(enum sass_width by, struct sass_insn insn);

/* Facts about each opcode, in a table for speed. `read`, `written`: predicate fields, as bits of enum
 * sass_predicate_field. `wide`, `wide_end`: range of its rows in the table of 64-bit forms, counted from 1. A
 * constructor fills the table before main(). */
extern struct sass_by_opcode {
	struct {
		uint8_t width; /* enum sass_width */
		bool uniform;
	} operand[SASS_OPERANDS];
	uint16_t read, written;
	uint8_t wide, wide_end;
} sass_by_opcode[];

/* Operand i of the instruction. n and reg are 0 if the form has no operand there; for RZ and URZ n is 0. */
static inline struct sass_operand sass_operand(const struct sass_form *form, struct sass_insn insn, unsigned i)
{
	unsigned by = sass_by_opcode[form->opcode].operand[i].width;
	struct sass_operand o = { .at = sass_operand_at[i],
				  .uniform = sass_by_opcode[form->opcode].operand[i].uniform,
				  .written = i == 0 };

	if (by > SASS_TWO)
		by = sass_width(by, insn);
	if (!by)
		return o;
	o.reg = sass_field(insn, o.at, o.uniform ? 6 : 8);
	o.n = o.reg == (o.uniform ? SASS_URZ : SASS_RZ) ? 0 : by;
	return o;
}

/* Return the predicates that an instruction of a known form reads, or writes, if it executes: lane predicates in
 * bits 0..6, uniform ones from bit SASS_WARPS on. */
#define SASS_WARPS 8
unsigned sass_predicates_read(struct sass_insn insn);
unsigned sass_predicates_written(struct sass_insn insn);
/* Does the field name a uniform predicate? */
bool sass_predicate_is_uniform(const struct sass_form *form, struct sass_insn insn, unsigned field);
/* Does the instruction work on 64 bits at once, as some do from sm_120 on? */
bool sass_is_wide(struct sass_insn insn);
/* Returns the cycles until a predicate that the instruction writes can guard another one. */
unsigned sass_predicate_cycles(struct sass_insn insn);
/* May a probe contain the instruction: are all its bits known? BRA must be relative and under lane predicates, not
 * BRA.DIV, which reads a uniform register. BMOV must clear or fill a barrier. LDS must be the never-executed one
 * before MEMBAR. STS, ATOMS and BAR, which count lanes, do not qualify. */
bool sass_is_probe_insn(const struct sass_arch *arch, struct sass_insn insn);
/* Is it BRA.DIV UR, target? It branches if the active lanes differ from the mask in the uniform register of bits
 * 24..29. */
bool sass_is_bra_div(struct sass_insn insn);
/* Does the instruction have variable latency, so that a scoreboard says when its result is ready? */
bool sass_is_slow(struct sass_insn insn);
/* Is the instruction a load, also of shared memory, or a store? Compilers omit its scoreboard if nothing waits for
 * it. */
bool sass_is_access(struct sass_insn insn);
/* Does a slow instruction lack a scoreboard for its write, or a store one for its reads? The hardware writes even a
 * dead result after issue. A scoreboard for the reads does not cover the write. */
bool sass_lacks_board(struct sass_insn insn);
/* Returns the instruction with this scoreboard for its write; for a store, for its reads. */
struct sass_insn sass_with_board(struct sass_insn insn, unsigned board);

#endif
