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

/* fields that may name a predicate: from SASS_P_OUT on those that are written, and the mask */
enum sass_predicate_field {
	SASS_P_GUARD,              /* 12 */
	SASS_P_BRANCH,             /* 24: of a branch, the warp's own */
	SASS_P_LANES,              /* 64 */
	SASS_P_EX,                 /* 68 */
	SASS_P_CARRY,              /* 77 */
	SASS_P_IN,                 /* 87 */
	SASS_P_OUT,                /* 81 */
	SASS_P_SECOND,             /* 84 */
	SASS_P_MASK,               /* 32: several, read or written */
	SASS_PREDICATE_FIELDS
};

struct sass_form {
	uint16_t opcode;
	char operands[5];          /* of the fields in sass_operand_at[] */
	char predicates[SASS_PREDICATE_FIELDS + 1]; /* of those in sass_predicate_at[] */
	uint16_t becomes;          /* 0: it is of registers alone */
	enum sass_demotion how;
};

#define SASS_OPERANDS 4
extern const uint8_t sass_operand_at[SASS_OPERANDS];

static inline bool sass_is_uniform_kind(char kind) /* of an operand */
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

struct sass_operand {
	uint8_t at;                /* its field */
	uint8_t reg, n;            /* registers from reg on; RZ and URZ are none: n is 0 */
	bool uniform, written;
};

/* How many registers an operand has: some of the instruction's bits say it. */
enum sass_width {
	SASS_NO_OPERAND, SASS_ONE, SASS_TWO, SASS_BY_ACCESS, SASS_BY_ATOMIC, SASS_TWO_IF_WIDE, SASS_TWO_BY_72, SASS_TWO_BY_73,
	SASS_ONE_BY_91,
};
unsigned sass_width(enum sass_width by, struct sass_insn insn);

/* Of each opcode what the checker's passes ask of every instruction, as forms have it: fields of predicates, as bits, that are
 * read and written; which instructions of 64 bits it may be. Filled in before main(). */
extern struct sass_by_opcode {
	struct {
		uint8_t width; /* enum sass_width */
		bool uniform;
	} operand[SASS_OPERANDS];
	uint16_t read, written;
	uint8_t wide, wide_end;
} sass_by_opcode[];

/* Operand i of the instruction; n 0 if the field holds none, and then so is reg. */
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

/* Predicates that an instruction of a form that probes may have reads, or writes, if it is carried out: lanes' as bits 0..6,
 * the warp's own from SASS_WARPS on. */
#define SASS_WARPS 8
unsigned sass_predicates_read(struct sass_insn insn);
unsigned sass_predicates_written(struct sass_insn insn);
/* Whether the field names one of the warp's own. */
bool sass_predicate_is_warps(const struct sass_form *form, struct sass_insn insn, unsigned field);
/* Whether it works on 64 bits at once, as some do from sm_120 on. */
bool sass_is_wide(struct sass_insn insn);
/* Cycles until a predicate that it writes can be read by whoever it guards. */
unsigned sass_predicate_time(struct sass_insn insn);
/* Whether it is of a form that probes may have in all of its bits: of LDS, what is never carried out; of BRA, a relative
 * one under predicates alone, not BRA.DIV, which reads a uniform register; of BMOV, what empties a barrier, and fills it. Not what
 * counts a block's lanes. */
bool sass_is_plain(const struct sass_arch *arch, struct sass_insn insn);
/* BRA.DIV UR, target: whether other lanes are here than a mask in a uniform register (24..29) names. */
bool sass_is_divergence(struct sass_insn insn);
/* Whether a scoreboard tells when its result is there. */
bool sass_is_slow(struct sass_insn insn);
/* Of what compilers leave out the scoreboard where nobody wants it: loads, of shared memory too, and stores. */
bool sass_is_access(struct sass_insn insn);
/* Slow work without a scoreboard that tells when its result is written; of a store, when its registers are read. A result that
 * nothing reads is written late all the same, and that its sources were read says nothing of it. */
bool sass_lacks_board(struct sass_insn insn);
/* One that does, with that one: of a store it tells that its registers are read. */
struct sass_insn sass_with_board(struct sass_insn insn, unsigned board);

#endif
