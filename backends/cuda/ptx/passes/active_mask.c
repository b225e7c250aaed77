/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: reads the active mask once for several places in straight-line code.
 * Before: each probe that needs the active mask reads it at its place.
 * After: the first place of a run of places reads the mask into a register; the other places of the run use the
 * register.
 * Requires: between the places of a run there are no branches, calls, exits or labels. A place joins a run only if
 * every lane that reaches the place runs its probe. Other places read the mask themselves. The file
 * core/lower/llvm/passes/nvptx_activemask_cse.c states why probes read the mask.
 */
#include "insn_probe.h"
#include "backends/cuda/ptx/analysis/control.h"

/* Returns true if every lane that executes the node then executes the next node. */
static bool is_straight(const struct ptx_splice *in, const struct ptx_node *insn)
{
	static const char *const memory[] = { "ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu" };
	static const char *const more[] = { "div",  "rem",   "sad",  "abs",  "rcp",  "sqrt", "rsqrt",
					    "sin",  "cos",   "lg2",  "ex2",  "tanh", "popc", "clz",
					    "brev", "bfind", "dp4a", "dp2a", "slct", "cnot", "isspacep" };

	if (insn->kind != PTX_INSN)
		return insn->kind == PTX_DIRECTIVE;
	if (ptx_is_register_op(in->m, insn))
		return true;
	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		if (ptx_word_is(in, insn->name, memory[i]))
			return true;
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (ptx_word_is(in, insn->name, more[i]))
			return true;
	return false;
}

static bool are_straight(const struct ptx_splice *in, uint32_t from, uint32_t to)
{
	while (from != PTX_NONE && from < to && is_straight(in, &in->m->nodes[from]))
		from = in->m->nodes[from].next;
	return from == to;
}

void ptx_share_active_mask(struct ptx_splice *in)
{
	struct ptx_site *before = NULL;

	for (uint32_t i = 0; i < in->nplaced; i++) {
		struct ptx_site *at = &in->placed[i];

		if (!at->probe || !at->probe->reads_active_mask || at->place.node == PTX_NONE ||
		    /* the probe runs before the call sequence */
		    ptx_call_begin(in->m, at->place.node) != at->place.node ||
		    !is_straight(in, &in->m->nodes[at->place.node]) || !ptx_all_lanes_run(in, at))
			continue;
		at->active_mask = before && are_straight(in, before->place.node, at->place.node) ? PTX_ACTIVE_SHARED :
												   PTX_ACTIVE_READ;
		before = at;
	}
}
