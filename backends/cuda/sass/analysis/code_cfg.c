/* SPDX-License-Identifier: Apache-2.0 */
#include "code_cfg.h"

#include <errno.h>
#include <stdlib.h>

bool sass_has_unknown_target(struct sass_insn insn)
{
	return sass_op(insn)->class == SASS_INDIRECT || sass_opcode(insn) == SASS_OP_CALL_REGISTER;
}

/* Adds the edges of a BSYNC: lanes that wait there continue at the target of a BSSY of the same barrier. */
static void add_reconvergence(struct sass_cfg *cfg, const struct sass_code *code, uint32_t bsync, const uint32_t *bssys,
			      uint32_t n)
{
	for (uint32_t m = 0; m < n; m++)
		if (sass_convergence_barrier(code->insns[bssys[m]]) == sass_convergence_barrier(code->insns[bsync]))
			sass_cfg_add_edge(cfg, bsync, sass_target_of(code->arch, code->insns, bssys[m]));
}

int sass_cfg_of_code(struct sass_cfg *cfg, const struct sass_code *code)
{
	uint32_t *bssys = calloc(code->n + 1, sizeof(*bssys)), n = 0;

	sass_cfg_begin(cfg, code->n);
	for (uint32_t i = 0; bssys && i < code->n; i++)
		if (code->insns[i].opcode == SASS_OP_BSSY)
			bssys[n++] = i;
	for (uint32_t i = 0; bssys && i < code->n; i++) {
		struct sass_insn insn = code->insns[i];

		cfg->unknown |= sass_has_unknown_target(insn);
		sass_cfg_add_edge(cfg, i, sass_target_of(code->arch, code->insns, i));
		if (insn.opcode == SASS_OP_BSYNC)
			add_reconvergence(cfg, code, i, bssys, n);
		if (sass_ends_path(insn))
			sass_cfg_end_path(cfg, i);
	}
	free(bssys);
	return bssys ? sass_cfg_build(cfg) : -ENOMEM;
}
