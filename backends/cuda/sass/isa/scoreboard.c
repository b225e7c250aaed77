/* SPDX-License-Identifier: Apache-2.0 */
#include "scoreboard.h"

unsigned sass_pending_boards(unsigned left, struct sass_insn insn)
{
	return (left & ~sass_wait_mask(insn)) | (sass_is_slow(insn) ? sass_boards_set(insn) : 0);
}

/* Does `later` write a register that the operands `access` name, or read one that they write? */
static bool depends_on(struct sass_insn later, const struct sass_operand access[SASS_OPERANDS])
{
	const struct sass_form *form = sass_form_find(sass_opcode(later));

	for (unsigned i = 0; i < SASS_OPERANDS; i++) {
		struct sass_operand x = sass_operand(form, later, i);

		for (unsigned k = 0; x.n && k < SASS_OPERANDS; k++) {
			const struct sass_operand *y = &access[k];

			if (y->n && (x.written || y->written) && x.reg < y->reg + y->n && y->reg < x.reg + x.n)
				return true;
		}
	}
	return false;
}

void sass_insert_wait(struct sass_insn *insns, uint32_t n, uint32_t i, unsigned board)
{
	struct sass_operand access[SASS_OPERANDS];
	uint32_t j = i + 1;

	for (unsigned o = 0; o < SASS_OPERANDS; o++)
		access[o] = sass_operand(sass_form_find(sass_opcode(insns[i])), insns[i], o);
	while (j < n && !depends_on(insns[j], access))
		j++;
	if (j < n)
		insns[j] = sass_with_field(insns[j], SASS_WAIT_AT, 6, sass_wait_mask(insns[j]) | 1u << board);
}

void sass_insert_added_waits(const struct sass_insn *was, struct sass_insn *is, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (sass_lacks_board(was[i]) && !sass_lacks_board(is[i]))
			sass_insert_wait(is, n, i, SASS_PROBE_SB);
}
