/* SPDX-License-Identifier: Apache-2.0 */
/* The registers and predicates that instructions of probes read and write, by the forms in isa.def. */
#ifndef GPUBPF_SASS_FORM_H
#define GPUBPF_SASS_FORM_H

#include "isa.h"

/* how an instruction with uniform operands becomes one of registers */
enum sass_demotion {
	SASS_DEMOTE_AS,            /* its opcode changes */
	SASS_DEMOTE_MOV,           /* and bits 72..75 select all four bytes */
	SASS_DEMOTE_FROM_A,        /* likewise; the source is in A */
	SASS_DEMOTE_SWAP,          /* the uniform operand is C, in the field of B */
	SASS_DEMOTE_CONSTANT,      /* a constant, read by the load unit: a scoreboard says when it is ready */
	SASS_DEMOTE_MEMORY,        /* a memory access loses its descriptor */
	SASS_DEMOTE_LOCAL,         /* an access to local memory at a uniform address */
	SASS_DEMOTE_VIADD,         /* a sum of two operands becomes one of three */
	SASS_DEMOTE_SUM_64,        /* a sum of three operands, the last zero, becomes one of two */
	SASS_DEMOTE_BRANCH,        /* its predicate is in the field of A; bit 27 negates it */
};

/* fields that may name a predicate; SASS_P_OUT and later are written, except the mask */
enum sass_predicate_field {
	SASS_P_GUARD,              /* 12 */
	SASS_P_BRANCH,             /* 24: the uniform predicate of a branch */
	SASS_P_LANES,              /* 64 */
	SASS_P_EX,                 /* 68 */
	SASS_P_CARRY,              /* 77 */
	SASS_P_IN,                 /* 87 */
	SASS_P_OUT,                /* 81 */
	SASS_P_SECOND,             /* 84 */
	SASS_P_MASK,               /* 32: a set that is read or written */
	SASS_PREDICATE_FIELDS
};

struct sass_form {
	uint16_t opcode;
	char operands[5];          /* a letter for each field in sass_operand_at[] */
	char predicates[SASS_PREDICATE_FIELDS + 1]; /* a letter for each field in sass_predicate_at[] */
	uint16_t becomes;          /* opcode of the form of registers; 0: it has registers only */
	enum sass_demotion how;
};

#define SASS_OPERANDS 4
extern const uint8_t sass_operand_at[SASS_OPERANDS];

static inline bool sass_is_uniform_kind(char kind) /* the letter of an operand */
{
	switch (kind) {
	case 'u': case 'U': case 'v': case 'V': case 'w': case 'n': case 'y':
		return true;
	default:
		return false;
	}
}

extern const uint8_t sass_predicate_at[SASS_PREDICATE_FIELDS];

/* NULL: probes have no such instruction */
const struct sass_form *sass_form_find(uint32_t opcode);

/* Does the instruction use the uniform datapath? */
bool sass_is_uniform(struct sass_insn insn);

struct sass_operand {
	uint8_t at;                /* position of its field */
	uint8_t reg, n;            /* n registers from reg on; n is 0 for RZ and URZ */
	bool uniform, written;
};

/* The number of registers of an operand, or the bits of the instruction that decide it. */
enum sass_width {
	SASS_NO_OPERAND, SASS_ONE, SASS_TWO, SASS_BY_ACCESS, SASS_BY_ATOMIC, SASS_TWO_IF_WIDE, SASS_TWO_BY_72, SASS_TWO_BY_73,
	SASS_ONE_BY_91,
};
unsigned sass_width(enum sass_width by, struct sass_insn insn);

/* Facts of each opcode that every pass of the checker needs. `read`, `written`: fields of predicates, as bits. `wide`,
 * `wide_end`: its rows in the table of 64-bit forms. A constructor fills the table before main(). */
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
	struct sass_operand o = { .at = sass_operand_at[i], .uniform = sass_by_opcode[form->opcode].operand[i].uniform, .written = i == 0 };

	if (by > SASS_TWO)
		by = sass_width(by, insn);
	if (!by)
		return o;
	o.reg = sass_field(insn, o.at, o.uniform ? 6 : 8);
	o.n = o.reg == (o.uniform ? SASS_URZ : SASS_RZ) ? 0 : by;
	return o;
}

/* Predicates that an instruction of a known form reads, or writes, if it executes: a lane's in bits 0..6, uniform ones
 * from SASS_WARPS on. */
#define SASS_WARPS 8
unsigned sass_predicates_read(struct sass_insn insn);
unsigned sass_predicates_written(struct sass_insn insn);
/* Does the field name a uniform predicate? */
bool sass_predicate_is_uniform(const struct sass_form *form, struct sass_insn insn, unsigned field);
/* Does it work on 64 bits at once, as some instructions do from sm_120 on? */
bool sass_is_wide(struct sass_insn insn);
/* Cycles until a predicate that it writes can guard an instruction. */
unsigned sass_predicate_cycles(struct sass_insn insn);
/* Is the instruction known in all its bits, so that a probe may have it? LDS must never execute. BRA must be relative
 * and under predicates, not BRA.DIV, which reads a uniform register. BMOV must empty or fill a barrier. Instructions
 * that count a block's lanes do not qualify. */
bool sass_is_probe_insn(const struct sass_arch *arch, struct sass_insn insn);
/* BRA.DIV UR, target: do the active lanes differ from the mask in a uniform register (24..29)? */
bool sass_is_bra_div(struct sass_insn insn);
/* Does it have variable latency, so that a scoreboard says when its result is ready? */
bool sass_is_slow(struct sass_insn insn);
/* Is it a load, of shared memory too, or a store? Compilers omit their scoreboard if nothing waits for it. */
bool sass_is_access(struct sass_insn insn);
/* Does slow work have no scoreboard for its write, or, of a store, for its reads? The hardware writes a dead result
 * after issue all the same. A scoreboard for the reads does not cover the write. */
bool sass_lacks_board(struct sass_insn insn);
/* The instruction with this scoreboard for its write; of a store, for its reads. */
struct sass_insn sass_with_board(struct sass_insn insn, unsigned board);

#endif
