/* SPDX-License-Identifier: Apache-2.0 */
/* Says which registers and predicates an instruction of a probe reads and writes, by its form in isa.def. */
#ifndef GPUBPF_SASS_FORM_H
#define GPUBPF_SASS_FORM_H

#include "isa.h"

/* How demotion (backends/cuda/sass/probe/probe.c) turns an instruction with uniform operands into an instruction
 * with per-lane registers. */
enum sass_demotion {
	SASS_DEMOTE_AS,       /* only the opcode and the register fields change */
	SASS_DEMOTE_MOV,      /* the result is a MOV, in which bits 72..75 select all four bytes */
	SASS_DEMOTE_FROM_A,   /* R2UR becomes MOV: like DEMOTE_MOV, and the source moves from field A to field B */
	SASS_DEMOTE_SWAP,     /* operand C is uniform and in the field of B: the fields of B and C are swapped */
	SASS_DEMOTE_CONSTANT, /* ULDC or LDCU becomes LDC, whose result needs a scoreboard */
	SASS_DEMOTE_MEMORY,   /* an access to global memory: the field of its memory descriptor is cleared */
	SASS_DEMOTE_LOCAL,    /* an access to local memory at a uniform address gets a register address */
	SASS_DEMOTE_VIADD,    /* a sum of two operands becomes a sum of three operands */
	SASS_DEMOTE_SUM_64,   /* a sum of three operands with a zero as the last becomes a sum of two operands */
	SASS_DEMOTE_BRANCH,   /* BRA.U: its uniform predicate, in field A and negated by bit 27, moves to field 87 */
};

/* Fields that may name a predicate, with their bit position. Instructions write the predicates in the fields from
 * SASS_P_OUT on and read the other ones. Some instructions read SASS_P_MASK. */
enum sass_predicate_field {
	SASS_P_GUARD,  /* 12 */
	SASS_P_BRANCH, /* 24: the uniform predicate of BRA.U */
	SASS_P_LANES,  /* 64 */
	SASS_P_EX,     /* 68 */
	SASS_P_CARRY,  /* 77 */
	SASS_P_IN,     /* 87 */
	SASS_P_OUT,    /* 81 */
	SASS_P_SECOND, /* 84 */
	SASS_P_MASK,   /* 32: a set of predicates that is read or written */
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

/* Returns the number of the predicate in a field, without its negation. */
static inline unsigned sass_predicate(struct sass_insn i, unsigned field)
{
	switch (field) {
	case SASS_P_GUARD:
		return i.guard & SASS_PT;
	case SASS_P_BRANCH:
		return i.operand[1].reg & SASS_PT;
	case SASS_P_LANES:
		return i.operand[3].reg & SASS_PT;
	case SASS_P_EX:
		return (i.operand[3].reg | i.operand[3].rest) >> 4 & SASS_PT;
	case SASS_P_CARRY:
		return i.carry & SASS_PT;
	case SASS_P_IN:
		return i.in & SASS_PT;
	case SASS_P_OUT:
		return i.out;
	case SASS_P_SECOND:
		return i.second_out;
	default:
		return i.operand[2].reg & SASS_PT;
	}
}

/* Returns the instruction with another predicate in a field. */
struct sass_insn sass_with_predicate(struct sass_insn insn, unsigned field, unsigned predicate);
/* Is the predicate in a field negated? Only fields that the instruction reads have a bit for this. */
bool sass_predicate_is_negated(struct sass_insn insn, unsigned field);
/* Is the instruction a PLOP3 that writes only the AND of the three predicates in SASS_P_IN, SASS_P_CARRY and
 * SASS_P_EX? The second function returns the predicate in SASS_P_EX, with its negation. */
bool sass_is_and_of_predicates(struct sass_insn insn);
unsigned sass_third_predicate(struct sass_insn insn);
/* Returns the bits of the instruction without its registers, guard and control word. Also leaves out the predicates
 * in `fields`, a set of bits of enum sass_predicate_field. Two instructions of one form with equal bits compute the
 * same. */
struct sass_word sass_operation_bits(struct sass_insn insn, unsigned fields);

/* Returns the form of an opcode; NULL: probes may not contain this opcode. */
const struct sass_form *sass_form_find(uint32_t opcode);

/* Does the instruction use the uniform datapath? */
bool sass_is_uniform(struct sass_insn insn);

/* bits that make an instruction of the opcode work on 64 bits (SASS_WIDE in isa.def) */
struct sass_wide {
	uint16_t opcode;
	uint32_t known_by, value, either;
};
/* Returns the row of a wide instruction; NULL: the instruction is not wide. */
const struct sass_wide *sass_wide_find(struct sass_insn insn);

/* Facts about each opcode. `read`, `written`: predicate fields, as bits of enum sass_predicate_field. */
extern struct sass_by_opcode {
	const struct sass_form *form;
	struct {
		uint8_t width; /* enum width of decode.c */
		bool uniform;
	} operand[SASS_OPERANDS];
	uint16_t read, written, named; /* named: fields with the number of a predicate */
	bool inverted;                 /* the field SASS_P_LANES holds 7 minus the number of its predicate */
	bool demotes;                  /* an operand or a predicate may be uniform */
	uint8_t wide, wide_end;
} sass_by_opcode[];

/* Returns the form of the instruction's opcode; NULL: none. */
static inline const struct sass_form *sass_form(struct sass_insn i)
{
	return sass_by_opcode[i.opcode].form;
}

/* Return the predicates that an instruction of a known form reads or writes if it executes. Lane predicates are bits
 * 0..6, and uniform predicates are the bits from SASS_WARPS on. */
#define SASS_WARPS 8
unsigned sass_predicates_read(struct sass_insn insn);
unsigned sass_predicates_written(struct sass_insn insn);
/* Does the field name a uniform predicate? */
bool sass_predicate_is_uniform(const struct sass_form *form, struct sass_insn insn, unsigned field);
/* Returns the number of cycles until a predicate that the instruction writes can guard another instruction. */
unsigned sass_predicate_cycles(struct sass_insn insn);
/* May a probe contain the instruction? All its bits must be known. BRA must be relative and have only lane
 * predicates. BRA.DIV does not qualify, because it reads a uniform register. BMOV must clear or fill a barrier. LDS
 * must be the never-executed LDS before MEMBAR. STS, ATOMS and BAR do not qualify, because only the code that counts
 * lanes may contain them. */
bool sass_is_probe_insn(const struct sass_arch *arch, struct sass_insn insn);
/* Is the instruction BRA.DIV UR, target? It branches if the active lanes differ from the mask in the uniform
 * register, which bits 24..29 name. */
bool sass_is_bra_div(struct sass_insn insn);
/* Does the instruction have variable latency, so that a scoreboard says when its result is ready? */
bool sass_is_slow(struct sass_insn insn);
/* Is the instruction a load, also of shared memory, or a store? Compilers omit its scoreboard if nothing waits for
 * it. */
bool sass_is_access(struct sass_insn insn);
/* Does a slow instruction lack a scoreboard for its write, or a store lack a scoreboard for its reads? The hardware
 * writes even a dead result after issue. A scoreboard for the reads does not cover the write. */
bool sass_lacks_board(struct sass_insn insn);
/* Returns the instruction with this scoreboard for its write. A store gets the scoreboard for its reads. */
struct sass_insn sass_with_board(struct sass_insn insn, unsigned board);

#endif
