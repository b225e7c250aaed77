/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: moves each probe that runs after a load to the end of the run of loads.
 * Before: each probe runs directly after its load, so the loads of a run are not in flight together.
 * After: the probe runs after the last load of the run. A run ends at the latest before the first instruction that uses
 * a loaded value.
 * Requires: the probe only adds to summed map values (core/lower/sums.h), so it may run at any point that the same
 * lanes reach. Its operands are still read at its place, and a { } block from there to the probe holds them.
 */
#include "insn_probe.h"

#include <string.h>

#define MAX_LOADED 64 /* largest number of registers that the loads of a run write */

bool ptx_is_register_op(const struct ptx_module *m, const struct ptx_node *insn)
{
	static const char *const names[] = { "mov", "cvt",  "cvta", "add", "sub",  "mul",  "mad", "fma", "neg",
					     "abs", "min",  "max",  "shl", "shr",  "shf",  "and", "or",  "xor",
					     "not", "lop3", "bfe",  "bfi", "prmt", "setp", "set", "selp" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (ptx_token_is(m, insn->name, names[i]))
			return true;
	return false;
}

static bool is_load(const struct ptx_splice *in, const struct ptx_node *insn)
{
	static const char *const ordered[] = { ".volatile", ".relaxed", ".acquire", ".mmio" };

	for (size_t i = 0; i < sizeof(ordered) / sizeof(ordered[0]); i++)
		if (ptx_has_modifier(in, insn, ordered[i]))
			return false;
	return ptx_word_is(in, insn->name, "ld");
}

/* Returns true if the instruction loads from global or generic memory, which has a long latency. */
static bool is_long_latency_load(const struct ptx_splice *in, const struct ptx_node *insn)
{
	static const char *const near[] = { ".shared", ".local", ".const", ".param" };

	for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++)
		if (ptx_has_modifier(in, insn, near[i]))
			return false;
	return is_load(in, insn);
}

struct loaded {
	uint32_t tokens[MAX_LOADED], n;
};

static bool is_same_name(const struct ptx_module *m, uint32_t a, uint32_t b)
{
	return m->tokens[a].len == m->tokens[b].len &&
	       !memcmp(ptx_token_text(m, a), ptx_token_text(m, b), m->tokens[a].len);
}

static bool uses_loaded(const struct ptx_module *m, const struct ptx_node *insn, const struct loaded *loaded)
{
	for (uint32_t t = insn->first; t < insn->end; t++)
		for (uint32_t i = 0; i < loaded->n; i++)
			if (is_same_name(m, t, loaded->tokens[i]))
				return true;
	return false;
}

/*
 * Records the registers that a load writes, which are its operands before the address. Returns false if there are too
 * many.
 */
static bool add_loaded(const struct ptx_module *m, const struct ptx_node *insn, struct loaded *loaded)
{
	for (uint32_t t = insn->operands; t < insn->end && !ptx_token_is(m, t, "["); t++) {
		if (m->tokens[t].kind != PTX_WORD)
			continue;
		if (loaded->n == MAX_LOADED)
			return false;
		loaded->tokens[loaded->n++] = t;
	}
	return true;
}

/*
 * Returns the last load of the run of loads that begins at `node`; this may be `node` itself. All loads of a run can be
 * in flight together.
 */
static uint32_t find_last_load(struct ptx_splice *in, uint32_t node)
{
	struct loaded loaded = { .n = 0 };
	const struct ptx_module *m = in->m;
	uint32_t last = node;

	if (!add_loaded(m, &m->nodes[node], &loaded))
		return node;
	for (uint32_t n = m->nodes[node].next; n != PTX_NONE; n = m->nodes[n].next) {
		const struct ptx_node *insn = &m->nodes[n];
		bool load;

		if (insn->kind == PTX_DIRECTIVE)
			continue;
		load = insn->kind == PTX_INSN && is_load(in, insn);
		if (insn->kind != PTX_INSN || !(load || ptx_is_register_op(m, insn)) || uses_loaded(m, insn, &loaded) ||
		    (load && !add_loaded(m, insn, &loaded)))
			break;
		if (is_long_latency_load(in, insn))
			last = n;
	}
	return last;
}

/*
 * Returns true if all probes of one instruction, at the places [first, end), may be moved. Their { } blocks nest, so
 * either all are moved or none.
 */
static bool can_sink_all(const struct ptx_splice *in, uint32_t first, uint32_t end)
{
	bool may = true;

	for (uint32_t i = first; i < end; i++) {
		const struct gpubpf_place_kind *kind = gpubpf_place_kind(in->placed[i].place.kind);

		if (in->placed[i].probe && kind->when == GPUBPF_WHEN_AFTER)
			may &= in->placed[i].probe->adds_alone && kind->spaces;
	}
	return may;
}

void ptx_sink_probes(struct ptx_splice *in)
{
	uint32_t open = 0, end;
	bool ends = false;

	in->open_run_first = in->open_run_last = 0;
	for (uint32_t i = 0; i < in->nplaced; i++)
		ends |= in->placed[i].probe && in->placed[i].probe->ends_thread;
	for (uint32_t first = 0; first < in->nplaced && !ends; first = end) {
		uint32_t node = in->placed[first].place.node;

		for (end = first + 1; end < in->nplaced && in->placed[end].place.node == node;)
			end++;
		if (node == PTX_NONE || !is_long_latency_load(in, &in->m->nodes[node]) || !can_sink_all(in, first, end))
			continue;
		if (node > open) /* an earlier node is part of the current run, so its probes move to that run's end */
			open = find_last_load(in, node);
		for (uint32_t i = first; i < end; i++)
			if (in->placed[i].probe && gpubpf_place_kind(in->placed[i].place.kind)->when == GPUBPF_WHEN_AFTER)
				in->placed[i].sunk_to = open;
	}
}
