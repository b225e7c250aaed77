/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that several passes of the checker share. */
#include "work.h"

#include "core/model/diag.h"
#include "backends/cuda/sass/analysis/live.h"

int sass_check_fail(struct checked *c, uint32_t at, const char *what)
{
	return gpubpf_diag_set(c->diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the twin is not what it should be at 0x%x: %s",
			       at * SASS_INSN, what);
}

int64_t sass_check_target(const struct checked *c, uint32_t i)
{
	int64_t off = sass_branch(c->code->arch, insn_at(c, i));

	return off % SASS_INSN ? -1 : (int64_t)i + 1 + off / SASS_INSN;
}

bool sass_check_is_moved(const struct checked *c, uint32_t i)
{
	return i < c->first_stub ? c->entry != SASS_NONE && i == c->entry_copy :
				   c->stub_flags[i - c->first_stub] & SASS_IN_STUB_OWN;
}

void sass_check_find_reg_span(const struct checked *c, uint32_t from, uint32_t to, uint32_t *low, uint32_t *top)
{
	*low = SASS_RZ;
	*top = 0;
	for (uint32_t i = from; i < to; i++) {
		const struct sass_form *form = sass_form_find(sass_opcode(insn_at(c, i)));

		for (unsigned o = 0; o < SASS_OPERANDS && !sass_check_is_moved(c, i); o++) {
			struct sass_operand x = sass_operand(form, insn_at(c, i), o);

			if (!x.n)
				continue;
			*low = x.reg < *low ? x.reg : *low;
			*top = (uint32_t)x.reg + x.n > *top ? (uint32_t)x.reg + x.n : *top;
		}
	}
}

uint32_t sass_check_wait_index(const struct checked *c)
{
	return c->exit + (c->first_added == c->code->tail);
}

unsigned sass_check_exit_waits(const struct checked *c)
{
	return sass_wait_mask(insn_at(c, c->exit)) | sass_wait_mask(insn_at(c, sass_check_wait_index(c)));
}

unsigned sass_check_entry_pending(const struct checked *c)
{
	unsigned left = 0;

	for (uint32_t i = c->entry; c->entry != SASS_NONE && i < c->entry_copy; i++)
		left = sass_pending_boards(left, insn_at(c, i));
	return left;
}

int sass_check_predicate_boards(struct checked *c)
{
	for (uint32_t i = 0; i < c->code->n && i < c->first_added; i++)
		if (!c->has_stub[i] && sass_predicate_lacks_board(c->code->arch, insn_at(c, i)))
			return sass_check_fail(c, i, "the kernel writes a predicate without a scoreboard");
	return 0;
}
