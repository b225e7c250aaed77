/* SPDX-License-Identifier: Apache-2.0 */
#include "boards.h"

#include <errno.h>
#include <stdlib.h>

#include "backends/cuda/sass/isa/scoreboard.h"
#include "dataflow.h"

struct board_flow {
	const struct sass_cfg *cfg;
	const struct sass_insn *insns;
	unsigned *left;
};

/* Follows the set scoreboards through block b. Adds the scoreboards that are set at an EXIT or at the end of the code
 * to *left. */
static void apply_block(void *arg, uint32_t b, void *state)
{
	const struct board_flow *w = arg;
	const struct sass_block *block = &w->cfg->blocks[b];
	uint8_t *set = state;

	for (uint32_t i = block->begin; i < block->end; i++) {
		*set = sass_pending_boards(*set, w->insns[i]);
		if (w->insns[i].opcode == SASS_OP_EXIT || i + 1 == w->cfg->ninsns)
			*w->left |= *set;
	}
}

static bool merge_boards(void *arg, uint32_t b, void *to, const void *from)
{
	uint8_t *boards = to, was = *boards;

	(void)arg;
	(void)b;
	*boards |= *(const uint8_t *)from;
	return *boards != was;
}

int sass_boards_left(const struct sass_arch *arch, const struct sass_insn *insns, uint32_t n, unsigned *left)
{
	struct sass_cfg cfg;
	struct board_flow w = { &cfg, insns, left };
	struct sass_dataflow flow = {
		.cfg = &cfg, .size = sizeof(uint8_t), .transfer = apply_block, .merge = merge_boards, .arg = &w
	};
	int err = sass_cfg_of_probe(&cfg, arch, insns, n);
	uint8_t *states = err ? NULL : calloc(cfg.nblocks + 1, sizeof(*states));

	*left = 0;
	if (!err)
		err = states ? sass_dataflow_solve(&flow, states) : -ENOMEM;
	free(states);
	sass_cfg_finish(&cfg);
	return err;
}
