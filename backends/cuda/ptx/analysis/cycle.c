/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: detects cycles in a function's control-flow graph, by depth-first search.
 * Before: the function is parsed.
 * After: the function is unchanged.
 * Requires: an index of labels (ptx_index_labels()). The search does not follow the edges of brx.idx.
 */
#include "backends/cuda/ptx/ir/scope.h"

#include <errno.h>
#include <stdlib.h>

/*
 * state of a node: the edge that the search follows next. A node whose state is neither NEW nor DONE is on the current
 * path.
 */
enum { NEW, FALLS_THROUGH, BRANCHES, LEAVES, DONE };

struct walk {
	const struct ptx_module *m;
	uint32_t first, end; /* nodes */
	uint8_t *next;
	uint32_t *path, n;
};

static bool falls_through(const struct ptx_module *m, const struct ptx_node *n)
{
	return n->kind != PTX_INSN || n->guard != PTX_NONE ||
	       !(ptx_token_is(m, n->name, "bra") || ptx_token_is(m, n->name, "ret") ||
		 ptx_token_is(m, n->name, "exit") || ptx_token_is(m, n->name, "trap"));
}

static uint32_t branch_target(const struct ptx_module *m, uint32_t node)
{
	const struct ptx_node *n = &m->nodes[node];

	return n->kind == PTX_INSN && ptx_token_is(m, n->name, "bra") ? ptx_find_label(m, node, n->operands) : PTX_NONE;
}

/*
 * Enters a node of the depth-first search. Returns true if the node is already on the current path: the path is then a
 * cycle.
 */
static bool enter_node(struct walk *w, uint32_t node)
{
	uint8_t *next;

	if (node < w->first || node >= w->end)
		return false;
	next = &w->next[node - w->first];
	if (*next == NEW) {
		*next = FALLS_THROUGH;
		w->path[w->n++] = node;
		return false;
	}
	return *next != DONE;
}

static bool walk(struct walk *w)
{
	bool again = enter_node(w, w->first);

	while (w->n && !again) {
		uint32_t node = w->path[w->n - 1];
		uint8_t *next = &w->next[node - w->first];

		if (*next == FALLS_THROUGH) {
			*next = BRANCHES;
			again = falls_through(w->m, &w->m->nodes[node]) && enter_node(w, node + 1);
		} else if (*next == BRANCHES) {
			*next = LEAVES;
			again = enter_node(w, branch_target(w->m, node));
		} else {
			*next = DONE;
			w->n--;
		}
	}
	return again;
}

int ptx_has_cycle(const struct ptx_module *m, uint32_t block)
{
	struct walk w = { m, block + 1, block + 1 };
	int has;

	while (w.end < m->nnodes && m->nodes[w.end].first < m->nodes[block].end)
		w.end++;
	w.next = calloc(w.end - block, 1);
	w.path = malloc((w.end - block) * sizeof(*w.path));
	has = w.next && w.path ? walk(&w) : -ENOMEM;
	free(w.next);
	free(w.path);
	return has;
}
