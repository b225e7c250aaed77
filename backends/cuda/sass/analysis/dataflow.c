/* SPDX-License-Identifier: Apache-2.0 */
#include "dataflow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct solver {
	const struct sass_dataflow *flow;
	char *states;
	void *state; /* the state that flows through the current block */
	bool *due;   /* due[b]: the state of block b has changed since the last visit */
	bool changed;
};

/* Passes the state of a block through it and merges the result into the next blocks. */
static void visit_block(struct solver *s, uint32_t b)
{
	const struct sass_dataflow *flow = s->flow;
	const struct sass_block *block = &flow->cfg->blocks[b];
	const uint32_t *next = flow->backward ? flow->cfg->pred + block->pred : flow->cfg->succ + block->succ;
	uint32_t n = flow->backward ? block->npred : block->nsucc;

	s->due[b] = false;
	memcpy(s->state, s->states + b * flow->size, flow->size);
	flow->transfer(flow->arg, b, s->state);
	for (uint32_t k = 0; k < n; k++)
		if (flow->merge(flow->arg, next[k], s->states + next[k] * flow->size, s->state))
			s->changed = s->due[next[k]] = true;
}

int sass_dataflow_solve(const struct sass_dataflow *flow, void *states)
{
	uint32_t n = flow->cfg->nblocks;
	struct solver s = { flow, states, malloc(flow->size + 1), malloc(n + 1), true };

	if (s.due)
		memset(s.due, true, n);
	while (s.state && s.due && s.changed) {
		s.changed = false;
		for (uint32_t k = 0; k < n; k++) {
			uint32_t b = flow->cfg->rpo[flow->backward ? n - 1 - k : k];

			if (s.due[b])
				visit_block(&s, b);
		}
	}
	free(s.state);
	free(s.due);
	return s.state && s.due ? 0 : -ENOMEM;
}
