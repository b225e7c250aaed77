/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that several passes of the checker share. */
#include <stdlib.h>

#include "work.h"

#include "core/model/diag.h"
#include "backends/cuda/sass/analysis/live.h"

#define FAILED "the check of the twin's machine code failed" /* ci/gpu and tests/backends/cuda/sass/every.c search
                                                              * for this text */

int sass_check_fail(struct checked *c, uint32_t at, const char *what)
{
	return gpubpf_diag_refuse(c->diag, INJECT, FAILED " at 0x%x: %s", at * SASS_INSN, what);
}

int sass_check_fail_whole(struct checked *c, const char *what)
{
	return gpubpf_diag_refuse(c->diag, INJECT, FAILED ": %s", what);
}

int64_t sass_check_target(const struct checked *c, uint32_t i)
{
	int64_t off = i < c->ninsns ? sass_branch(c->code->arch, insn_at(c, i)) : -1;

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

		for (unsigned o = 0; o < SASS_OPERANDS && !sass_check_is_moved(c, i); o++) {
			struct sass_operand x = insn_at(c, i).operand[o];

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

/* Propagates the scoreboards that may be set after instruction i to its successors, in left[]. Returns true if
 * left[] has changed. */
static bool flow_boards(const struct checked *c, uint32_t i, uint8_t *left)
{
	struct sass_insn insn = insn_at(c, i);
	unsigned set = sass_pending_boards(left[i - c->entry], insn);
	int64_t to = sass_has_target(insn) ? sass_check_target(c, i) : -1;
	bool falls = insn.opcode != SASS_OP_BRA || !sass_is_unconditional(insn), changed = false;

	if (to >= c->entry && to <= c->entry_copy) {
		changed = set & ~left[to - c->entry];
		left[to - c->entry] |= set;
	}
	if (falls) {
		changed |= (set & ~left[i + 1 - c->entry]) != 0;
		left[i + 1 - c->entry] |= set;
	}
	return changed;
}

/* If an allocation fails, the result contains all scoreboards, which is safe. */
unsigned sass_check_entry_pending(const struct checked *c)
{
	uint8_t *left = c->entry == SASS_NONE ? NULL : calloc(c->entry_copy - c->entry + 1, sizeof(*left));
	unsigned at_end = left ? 0 : SASS_ALL_BOARDS;
	bool changed = left;

	while (changed) {
		changed = false;
		for (uint32_t i = c->entry; i < c->entry_copy; i++)
			changed |= flow_boards(c, i, left);
		at_end = left[c->entry_copy - c->entry];
	}
	free(left);
	return c->entry == SASS_NONE ? 0 : at_end;
}

int sass_check_predicate_boards(struct checked *c)
{
	for (uint32_t i = 0; i < c->code->n && i < c->first_added; i++)
		if (!c->has_stub[i] && sass_predicate_lacks_board(c->code->arch, insn_at(c, i)))
			return sass_check_fail(c, i, "the kernel writes a predicate without a scoreboard");
	return 0;
}
