/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass: checks that the kernel's instructions are unchanged, with two exceptions. A branch may replace an EXIT, the
 * instruction at the entry, or an instruction with a stub. An instruction may have an added scoreboard.
 */
#include "work.h"

#include "backends/cuda/sass/analysis/live.h"

/* Returns instruction i of the kernel as a branch to index `to`, with the same predicates and control bits. */
static struct sass_insn to_branch(const struct checked *c, uint32_t i, uint32_t to)
{
	struct sass_insn insn = sass_with_opcode(sass_code_at(c->code, i), SASS_OP_BRA);

	return sass_with_branch(c->code->arch, insn, ((int64_t)to - i - 1) * SASS_INSN);
}

static bool has_added_predicate_board(const struct checked *c, struct sass_insn was, struct sass_insn is)
{
	return sass_predicate_lacks_board(c->code->arch, was) && same(is, sass_with_predicate_board(was));
}

bool sass_check_is_unchanged(const struct checked *c, struct sass_insn was, struct sass_insn is)
{
	return same(was, is) || has_added_board(was, is) || has_added_predicate_board(c, was, is);
}

bool sass_check_is_bare_branch(const struct checked *c, uint32_t i)
{
	return same(insn_at(c, i), sass_bra(c->code->arch, (sass_check_target(c, i) - i - 1) * SASS_INSN));
}

int sass_check_kernel_insns(struct checked *c)
{
	for (uint32_t i = 0; i < c->code->n && i < c->first_added; i++) {
		struct sass_insn was = sass_code_at(c->code, i), is = insn_at(c, i);

		if (i == c->entry_branch && c->entry != SASS_NONE) {
			if (!same(is, sass_bra(c->code->arch, ((int64_t)c->entry - i - 1) * SASS_INSN)))
				return sass_check_fail(c, i, "the entry does not branch to its probe");
		} else if (c->has_stub[i]) {
			if (!sass_check_is_bare_branch(c, i))
				return sass_check_fail(c, i, "an instruction does not branch to its stub");
		} else if (sass_opcode(was) == SASS_OP_EXIT && c->exit != SASS_NONE) {
			if (!same(is, to_branch(c, i, c->exit)))
				return sass_check_fail(c, i, "an exit does not branch to its probe");
		} else if (!sass_check_is_unchanged(c, was, is)) {
			return sass_check_fail(c, i, "an instruction of the kernel was changed");
		}
	}
	return 0;
}
