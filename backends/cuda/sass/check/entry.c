/* SPDX-License-Identifier: Apache-2.0 */
/* Pass: checks that the entry probe preserves the kernel's registers. A branch to the probe replaces an instruction
 * of the kernel. A copy of that instruction executes after the probe. */
#include "work.h"

/* Checks that every slow instruction of the entry probe has a scoreboard, because later probes use the same
 * registers. Also checks that the exit probe waits for the scoreboards that the entry probe leaves set. */
static int check_entry_pending(struct checked *c)
{
	for (uint32_t i = c->entry; i < c->entry_copy; i++)
		if (sass_lacks_board(insn_at(c, i)))
			return sass_check_fail(c, i, "the entry's probe leaves work in flight without a scoreboard");
	if (c->exit != SASS_NONE && sass_check_entry_pending(c) & ~sass_check_exit_waits(c))
		return sass_check_fail(c, c->exit, "an exit's probe does not wait for the work of the entry's probe");
	return 0;
}

int sass_check_entry(struct checked *c)
{
	uint32_t low, top;

	if (c->entry == SASS_NONE)
		return 0;
	if (c->has_stub[c->entry_branch] ?
		    !sass_check_is_bare_branch(c, c->entry_copy) :
		    !sass_check_is_unchanged(c, sass_code_at(c->code, c->entry_branch), insn_at(c, c->entry_copy)))
		return sass_check_fail(c, c->entry_copy, "the instruction at the entry does not execute after the probe");
	for (uint32_t i = c->code->begin; i < c->entry_branch; i++)
		if (!sass_may_precede_entry(sass_code_at(c->code, i)) || c->code->entered[i + 1])
			return sass_check_fail(c, i, "an instruction before the entry's probe may do more than read");
	sass_check_find_reg_span(c, c->entry, c->first_stub, &low, &top);
	if (c->entry_branch > c->code->begin && low < c->regs)
		return sass_check_fail(c, c->entry,
				       "the entry's probe overwrites registers that the kernel has "
				       "loaded");
	return c->exit == SASS_NONE && !c->insn_probes->n ? 0 : check_entry_pending(c);
}
