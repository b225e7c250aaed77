/* SPDX-License-Identifier: Apache-2.0 */
/* Describes single instructions of straight-line probes (schedule.h). */
#include "schedule.h"

/* Rejects an instruction that writes a predicate with variable latency, because the scheduler does not preserve the
 * scoreboard of the predicate. */
int sass_predicate_fields(struct sass_insn insn)
{
	const struct sass_by_opcode *row = &sass_by_opcode[insn.opcode];

	if (!row->form || !sass_has(insn, SASS_TIMED) || (sass_is_slow(insn) && sass_predicates_written(insn)))
		return -1;
	return row->inverted && insn.operand[3].reg & 0xf ? -1 : row->named;
}

#define SR_ZERO 0xff
#define SR_MULTIPROCESSOR 0x43

bool sass_reads_clock(struct sass_insn insn)
{
	return sass_is(insn, SASS_OPERATION_CS2R) && sass_special_register(insn) != SR_ZERO;
}

/* Does the S2R read a special register that does not change while a thread runs? The number of the multiprocessor also
 * counts as constant here, although it can change; see sass_reads_multiprocessor(). */
static bool is_constant(struct sass_insn insn)
{
	static const uint8_t constant[] = {
		0x00, 0x21, 0x22, 0x23, 0x25, 0x26, 0x27, 0x38, 0x39, 0x3a, 0x3b, 0x3c, SR_MULTIPROCESSOR
	};

	for (size_t i = 0; i < sizeof(constant); i++)
		if (constant[i] == sass_special_register(insn))
			return true;
	return false;
}

bool sass_reads_multiprocessor(struct sass_insn insn)
{
	return sass_is(insn, SASS_OPERATION_S2R) && sass_special_register(insn) == SR_MULTIPROCESSOR;
}

/* An LDC with an index register has a side effect here, because its value depends on the active lanes. */
bool sass_has_side_effect(struct sass_insn insn)
{
	if (sass_is(insn, SASS_OPERATION_CS2R))
		return sass_reads_clock(insn);
	if (sass_is(insn, SASS_OPERATION_S2R))
		return !is_constant(insn);
	if (sass_is(insn, SASS_OPERATION_LDC))
		return insn.operand[1].reg != SASS_RZ;
	return sass_has(insn, SASS_ORDERED);
}
