/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: finds the branch by which lanes skip a probe, and decides whether predicates can replace this branch.
 * Before: the probe's body as the lowering emitted it. Near its beginning there may be a conditional branch to its end.
 * After: the body is unchanged; probe.c edits it.
 * Requires: an index of labels (ptx_index_labels()).
 */
#include "backends/cuda/ptx/ir/scope.h"

#include <ctype.h>
#include <string.h>

#include "insn_probe.h"

/* Returns true for a register that LLVM declared, and false for a special register such as %tid. */
static bool is_virtual_register(const char *name, uint32_t len)
{
	static const char *const kinds[] = { "p", "rs", "r", "rd", "f", "fd" };
	uint32_t digits = 0;

	while (digits < len && isdigit((unsigned char)name[len - 1 - digits]))
		digits++;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (digits && len - digits == 1 + strlen(kinds[i]) && !memcmp(name + 1, kinds[i], len - digits - 1))
			return true;
	return false;
}

/* Returns true if the token's value is the same whenever a lane reads it. */
static bool is_invariant(const struct ptx_module *m, uint32_t token)
{
	static const char *const invariant[] = { "%tid", "%ntid", "%ctaid", "%nctaid" };
	const struct ptx_token *t = &m->tokens[token];

	if (t->kind != PTX_WORD || m->text[t->off] != '%' || is_virtual_register(m->text + t->off, t->len))
		return true;
	for (size_t i = 0; i < sizeof(invariant) / sizeof(invariant[0]); i++)
		if (ptx_token_is(m, token, invariant[i]))
			return true;
	return false;
}

/*
 * Returns true if the instruction only writes registers of the probe, from values that stay the same while the kernel
 * runs.
 */
static bool is_pure(const struct ptx_module *m, const struct ptx_node *n)
{
	static const char *const names[] = { "mov", "cvt", "add", "sub", "mul",  "mad",  "shl", "shr",
					     "and", "or",  "xor", "not", "setp", "selp", "min", "max" };
	bool pure = ptx_token_is(m, n->name, "ld") &&
		    (ptx_token_is(m, n->name + 1, ".const") || ptx_token_is(m, n->name + 1, ".param"));

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		pure |= ptx_token_is(m, n->name, names[i]);
	for (uint32_t t = n->operands; t < n->end; t++)
		pure &= is_invariant(m, t);
	return pure && n->guard == PTX_NONE && n->first == n->name;
}

/* Returns true if the branch's target is a ret of the probe. */
static bool branches_to_end(const struct ptx_module *m, uint32_t branch)
{
	uint32_t at = ptx_find_label(m, branch, m->nodes[branch].operands);

	while (at != PTX_NONE && m->nodes[at].kind == PTX_LABEL)
		at = m->nodes[at].next;
	return at != PTX_NONE && m->nodes[at].kind == PTX_INSN && m->nodes[at].guard == PTX_NONE &&
	       ptx_token_is(m, m->nodes[at].name, "ret");
}

uint32_t ptx_head_branch(const struct ptx_module *m, uint32_t block)
{
	for (uint32_t c = m->nodes[block].child; c != PTX_NONE; c = m->nodes[c].next) {
		const struct ptx_node *n = &m->nodes[c];

		if (n->kind == PTX_VARIABLE)
			continue;
		if (n->kind != PTX_INSN)
			return PTX_NONE;
		if (ptx_token_is(m, n->name, "bra") && n->guard == n->first + 1 && branches_to_end(m, c))
			return c;
		if (!is_pure(m, n))
			return PTX_NONE;
	}
	return PTX_NONE;
}

/*
 * Largest number of instructions that the branch skips. Without the branch, lanes that skip the probe execute these
 * instructions too; memory accesses among them have a predicate that is false in these lanes.
 */
#define MAX_GUARDED_INSNS 24

bool ptx_needs_guard(const struct ptx_module *m, const struct ptx_node *insn)
{
	static const char *const names[] = { "ld", "st", "red" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (ptx_token_is(m, insn->name, names[i]))
			return true;
	return false;
}

/* Returns true if the branch's target is the instruction that follows the branch. */
static bool branches_to_next(const struct ptx_module *m, uint32_t branch)
{
	uint32_t to = ptx_find_label(m, branch, m->nodes[branch].operands), at = m->nodes[branch].next;

	while (at != PTX_NONE && at != to && m->nodes[at].kind == PTX_LABEL)
		at = m->nodes[at].next;
	return to != PTX_NONE && at == to;
}

bool ptx_can_guard(const struct ptx_module *m, uint32_t branch)
{
	uint32_t n = 0;

	for (uint32_t c = m->nodes[branch].next; c != PTX_NONE; c = m->nodes[c].next) {
		const struct ptx_node *insn = &m->nodes[c];

		if (insn->kind == PTX_LABEL || insn->kind == PTX_DIRECTIVE)
			continue;
		if (insn->kind != PTX_INSN || insn->guard != PTX_NONE || ++n > MAX_GUARDED_INSNS)
			return false;
		if (ptx_token_is(m, insn->name, "ret"))
			return insn->next == PTX_NONE;
		if (ptx_token_is(m, insn->name, "bra") ? !branches_to_next(m, c) :
							 !(ptx_needs_guard(m, insn) || ptx_is_register_op(m, insn)))
			return false;
	}
	return false;
}
