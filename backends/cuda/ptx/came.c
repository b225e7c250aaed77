/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes that come to places. Those that execute one instruction execute the next one too, as long as none between branches,
 * calls, leaves or is branched to: of such a run the first place's lanes, asked for before it, are those of the others
 * (core/lower/llvm_here.c says what they are asked for). What has a guard, or a part of the lanes, asks by itself.
 */
#include "around.h"
#include "control.h"

/* Instructions behind which a lane goes on with the next one, as all do. */
static bool is_straight(const struct ptx_splice *in, const struct ptx_node *insn)
{
	static const char *const memory[] = { "ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu" };
	static const char *const more[] = { "div", "rem", "sad", "abs", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "popc", "clz",
					    "brev", "bfind", "dp4a", "dp2a", "slct", "cnot", "isspacep" };

	if (insn->kind != PTX_INSN)
		return insn->kind == PTX_DIRECTIVE;
	if (ptx_gives_register(in->m, insn))
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

void ptx_find_came(struct ptx_splice *in)
{
	struct ptx_placed *before = NULL;

	for (uint32_t i = 0; i < in->nplaced; i++) {
		struct ptx_placed *at = &in->placed[i];

		if (!at->probe || !at->probe->asks_came || at->place.node == PTX_NONE ||
		    ptx_call_begin(in->m, at->place.node) != at->place.node || /* the probe runs before the call */
		    !is_straight(in, &in->m->nodes[at->place.node]) || !ptx_all_take_part(in, at))
			continue;
		at->came = before && are_straight(in, before->place.node, at->place.node) ? PTX_AS_BEFORE : PTX_FIRST;
		before = at;
	}
}
