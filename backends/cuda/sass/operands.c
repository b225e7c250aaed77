/* SPDX-License-Identifier: Apache-2.0 */
#include "operands.h"

static const struct sass_form others[] = {
#define SASS_NAMES(number, letters) { number, letters, "", 0, SASS_DEMOTE_AS },
#include "operands.def"
};

static const struct sass_form *find(struct sass_insn insn)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i].opcode == sass_opcode(insn))
			return &others[i];
	return sass_form_find(sass_opcode(insn));
}

bool sass_operands_known(struct sass_insn insn)
{
	return find(insn);
}

unsigned sass_operands_named(struct sass_insn insn, struct sass_operand named[SASS_OPERANDS])
{
	const struct sass_form *form = find(insn);
	unsigned n = 0;

	for (unsigned i = 0; form && i < SASS_OPERANDS; i++)
		if (form->operands[i] != '-' && (form->operands[i] != 'y' || sass_field(insn, 91, 1)))
			named[n++] = sass_operand(form, insn, i);
	return n;
}
