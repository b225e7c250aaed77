/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about single instructions of straight-line probes (schedule.h). */
#include "schedule.h"

/* Does schedule_order.c know the latency of this operation (bits 0..8 of the opcode)? */
static bool is_timed(uint32_t operation)
{
	static const uint16_t timed[] = {
		0x002 /* MOV */,    0x005 /* CS2R */,      0x006 /* VOTE */,      0x007 /* SEL */,
		0x00c /* ISETP */,  0x010 /* IADD3 */,     0x011 /* LEA */,       0x012 /* LOP3 */,
		0x016 /* PRMT */,   0x017 /* IMNMX */,     0x019 /* SHF */,       0x01c /* PLOP3 */,
		0x024 /* IMAD */,   0x025 /* IMAD.WIDE */, 0x031 /* HFMA2 */,     0x035 /* HFMA2.MMA, IADD.64 */,
		0x048 /* VIMNMX */, 0x100 /* FLO */,       0x109 /* POPC */,      0x118 /* NOP */,
		0x119 /* S2R */,    0x14d /* EXIT */,      0x181 /* LDG */,       0x182 /* LDC */,
		0x183 /* LDL */,    0x186 /* STG */,       0x187 /* STL */,       0x189 /* SHFL */,
		0x18e /* RED */,    0x1a8 /* ATOMG */,     0x1a9 /* ATOMG.CAS */,
	};

	for (size_t i = 0; i < sizeof(timed) / sizeof(*timed); i++)
		if (timed[i] == operation)
			return true;
	return false;
}

/* Rejects a predicate result with variable latency, because the scheduler does not preserve the scoreboard for it. */
int sass_predicate_fields(struct sass_insn insn)
{
	const struct sass_form *form = sass_form_find(sass_opcode(insn));
	int fields = 0;

	if (!form || !is_timed(sass_opcode(insn) & 0x1ff) || (sass_is_slow(insn) && sass_predicates_written(insn)))
		return -1;
	for (unsigned f = 0; f < SASS_PREDICATE_FIELDS; f++) {
		if (form->predicates[f] == 'i' && sass_field(insn, sass_predicate_at[f], 4))
			return -1;
		fields |= strchr("-i", form->predicates[f]) ? 0 : 1 << f;
	}
	return fields;
}

static unsigned special_register(struct sass_insn insn)
{
	return sass_field(insn, 72, 8);
}

#define SR_ZERO 0xff
#define SR_MULTIPROCESSOR 0x43

bool sass_reads_clock(struct sass_insn insn)
{
	return (sass_opcode(insn) & 0x1ff) == 0x005 && special_register(insn) != SR_ZERO;
}

/* Does the S2R read a special register that does not change while a thread runs (lane, thread, block,
 * multiprocessor, lane masks)? */
static bool is_constant(struct sass_insn insn)
{
	static const uint8_t constant[] = {
		0x00, 0x21, 0x22, 0x23, 0x25, 0x26, 0x27, 0x38, 0x39, 0x3a, 0x3b, 0x3c, SR_MULTIPROCESSOR
	};

	for (size_t i = 0; i < sizeof(constant); i++)
		if (constant[i] == special_register(insn))
			return true;
	return false;
}

bool sass_reads_multiprocessor(struct sass_insn insn)
{
	return (sass_opcode(insn) & 0x1ff) == 0x119 && special_register(insn) == SR_MULTIPROCESSOR;
}

bool sass_has_side_effect(struct sass_insn insn)
{
	switch (sass_opcode(insn) & 0x1ff) {
	case 0x005: /* CS2R */
		return sass_reads_clock(insn);
	case 0x119: /* S2R */
		return !is_constant(insn);
	case 0x182: /* LDC with an index register: the value depends on the lanes that are active */
		return sass_field(insn, 24, 8) != SASS_RZ;
	case 0x100:
	case 0x109: /* FLO, POPC */
		return false;
	default:
		return (sass_opcode(insn) & 0x1ff) >= 0x100 || (sass_opcode(insn) & 0x1ff) == 0x006 /* VOTE */;
	}
}

/* MOV of all bytes; IMAD.MOV.U32 */
unsigned sass_copy_source_field(struct sass_insn insn)
{
	uint64_t rest = insn.hi & ((1ull << 41) - 1);

	if (sass_opcode(insn) == 0x202 && rest == 0xf00 && sass_field(insn, 32, 8) != SASS_RZ)
		return 32;
	if (sass_opcode(insn) == 0x224 && sass_field(insn, 24, 8) == SASS_RZ && sass_field(insn, 32, 8) == SASS_RZ &&
	    (rest & ~0xffull) == 0x078e0000 && sass_field(insn, 64, 8) != SASS_RZ)
		return 64;
	return 0;
}
