/* SPDX-License-Identifier: Apache-2.0 */
#include "boards.h"

#include <errno.h>
#include <stdlib.h>

#include "backends/cuda/sass/isa/scoreboard.h"
#include "cfg.h"

/* Follows the set scoreboards, in[b], through block b and adds the result to in[] of each successor. Adds the
 * scoreboards that are set at an EXIT or at the end of the code to *left. Returns true if in[] changed. */
static bool flow_through_block(const struct sass_cfg *cfg, const struct sass_insn *insns, uint32_t b, uint8_t *in,
			       unsigned *left)
{
	const struct sass_block *block = &cfg->blocks[b];
	unsigned set = in[b];
	bool changed = false;

	for (uint32_t i = block->begin; i < block->end; i++) {
		set = sass_pending_boards(set, insns[i]);
		if (insns[i].opcode == SASS_OP_EXIT || i + 1 == cfg->ninsns)
			*left |= set;
	}
	for (uint32_t k = 0; k < block->nsucc; k++) {
		uint8_t *to = &in[cfg->succ[block->succ + k]];

		changed |= set & ~*to;
		*to |= set;
	}
	return changed;
}

int sass_boards_left(const struct sass_arch *arch, const struct sass_insn *insns, uint32_t n, unsigned *left)
{
	struct sass_cfg cfg;
	int err = sass_cfg_of_probe(&cfg, arch, insns, n);
	uint8_t *in = err ? NULL : calloc(cfg.nblocks + 1, sizeof(*in));
	bool changed = in;

	*left = 0;
	while (changed) {
		changed = false;
		for (uint32_t k = 0; k < cfg.nblocks; k++)
			changed |= flow_through_block(&cfg, insns, cfg.rpo[k], in, left);
	}
	err = err || in ? err : -ENOMEM;
	free(in);
	sass_cfg_finish(&cfg);
	return err;
}
