/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions of probes read and write, by the forms in isa.def. */
#ifndef GPUBPF_SASS_FORM_H
#define GPUBPF_SASS_FORM_H

#include "isa.h"

/* how an instruction of the uniform datapath, or with its operands, becomes one of registers */
enum sass_demotion {
	SASS_DEMOTE_AS,            /* by its opcode */
	SASS_DEMOTE_MOV,           /* and 72..75 say that all four bytes move */
	SASS_DEMOTE_FROM_A,        /* likewise; what is moved stands in A */
	SASS_DEMOTE_SWAP,          /* the uniform operand is C, and stands in B's field */
	SASS_DEMOTE_CONSTANT,      /* a constant, by the unit that loads them: a scoreboard tells when it is there */
	SASS_DEMOTE_MEMORY,        /* a memory access without its descriptor */
	SASS_DEMOTE_LOCAL,         /* an access to local memory at an address that is the warp's */
	SASS_DEMOTE_VIADD,         /* a sum of two that becomes one of three */
	SASS_DEMOTE_SUM_64,        /* a sum of three, of which the last is zero, that becomes one of two */
	SASS_DEMOTE_BRANCH,        /* its predicate stands in A's field, negated by bit 27 */
};

/* fields that may name a uniform predicate */
enum sass_uniform_predicates {
	SASS_UP_GUARD = 1 << 0,    /* 12 */
	SASS_UP_OUT = 1 << 1,      /* 81 */
	SASS_UP_SECOND = 1 << 2,   /* 84 */
	SASS_UP_IN = 1 << 3,       /* 87 */
	SASS_UP_EX = 1 << 4,       /* 68 */
	SASS_UP_CARRY = 1 << 5,    /* 77 */
	SASS_UP_BRANCH = 1 << 6,   /* 24 */
};
#define SASS_UP_FIELDS 7

struct sass_form {
	uint16_t opcode;
	char operands[5];          /* of the fields in sass_operand_at[] */
	uint16_t becomes;          /* 0: it is of registers alone */
	enum sass_demotion how;
	unsigned predicates;       /* enum sass_uniform_predicates */
};

#define SASS_OPERANDS 4
extern const uint8_t sass_operand_at[SASS_OPERANDS];
extern const uint8_t sass_up_at[SASS_UP_FIELDS];

/* NULL: probes have no such instruction */
const struct sass_form *sass_form_find(uint32_t opcode);

struct sass_operand {
	uint8_t at;                /* its field */
	uint8_t reg, n;            /* registers from reg on; RZ and URZ are none: n is 0 */
	bool uniform, written;
};

/* Operand i of the instruction; n 0 if the field holds none. */
struct sass_operand sass_operand(const struct sass_form *form, struct sass_insn insn, unsigned i);

/* Predicates that an instruction of a form that probes may have writes, as bits 0..6. */
unsigned sass_predicates_written(struct sass_insn insn);
/* Whether it works on 64 bits at once, as some do from sm_120 on. */
bool sass_is_wide(struct sass_insn insn);
/* Cycles until a predicate that it writes can be read by whoever it guards. */
unsigned sass_predicate_time(struct sass_insn insn);
/* Whether it is of a form that probes may have in all of its bits: of LDS, what is never carried out; of BRA, a relative
 * one under predicates alone, not BRA.DIV, which reads a uniform register; of BMOV, what empties a barrier. */
bool sass_is_plain(const struct sass_arch *arch, struct sass_insn insn);
/* BRA.DIV UR, target: whether other lanes are here than a mask in a uniform register (24..29) names. */
bool sass_is_divergence(struct sass_insn insn);
/* Whether a scoreboard tells when its result is there. */
bool sass_is_slow(struct sass_insn insn);

#endif
