/* SPDX-License-Identifier: Apache-2.0 */
#include "scoreboard.h"

unsigned sass_pending_boards(unsigned left, struct sass_insn insn)
{
	return (left & ~sass_wait_mask(insn)) | (sass_is_slow(insn) ? sass_boards_set(insn) : 0);
}

/* Does `later` write a register that `earlier` uses, or read a register that `earlier` writes? */
static bool depends_on(struct sass_insn later, struct sass_insn earlier)
{
	for (unsigned o = 0; o < SASS_OPERANDS; o++)
		if (sass_uses(later, &earlier.operand[o], earlier.operand[o].written ? SASS_USES : SASS_WRITES))
			return true;
	return false;
}

void sass_insert_wait(struct sass_insn *insns, uint32_t n, uint32_t i, unsigned board)
{
	uint32_t j = i + 1;

	while (j < n && !depends_on(insns[j], insns[i]))
		j++;
	if (j < n)
		insns[j] = sass_with_waits(insns[j], sass_wait_mask(insns[j]) | 1u << board);
}

void sass_insert_added_waits(const struct sass_insn *was, struct sass_insn *is, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (sass_lacks_board(was[i]) && !sass_lacks_board(is[i]))
			sass_insert_wait(is, n, i, SASS_PROBE_SB);
}
