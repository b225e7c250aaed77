/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the control-flow graph of a kernel's section, which also contains functions that the kernel calls.
 *
 * Does:     adds the edges of branches, calls and convergence barriers.
 * Before:   sass_code_read() has read the code.
 * After:    cfg has blocks, edges, dominators and loops. cfg->unknown says whether some jumps have unknown targets.
 * Requires: a caller that handles unknown targets. Indirect jumps and RET have no edges except the fall-through.
 */
#ifndef GPUBPF_SASS_CODE_CFG_H
#define GPUBPF_SASS_CODE_CFG_H

#include "cfg.h"
#include "code.h"

/* Builds the graph. Returns 0 or -ENOMEM. The caller calls sass_cfg_finish() in both cases. */
int sass_cfg_of_code(struct sass_cfg *cfg, const struct sass_code *code);
/* Does the instruction jump, call or return to an address that only a register holds? */
bool sass_has_unknown_target(struct sass_insn insn);

#endif
