/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the scoreboards that may still be set when lanes leave a probe.
 *
 * Does:     follows the set scoreboards along every path of a probe.
 * Before:   each asynchronous instruction of the probe sets a scoreboard.
 * After:    the result has a bit for each scoreboard that may be set at an EXIT or at the end of the probe.
 * Requires: the targets of all branches are known. A wait clears a scoreboard only on the paths that execute the wait.
 */
#ifndef GPUBPF_SASS_BOARDS_H
#define GPUBPF_SASS_BOARDS_H

#include "backends/cuda/sass/isa/isa.h"

/* Sets bit b of *left if scoreboard b may still be set when lanes leave the probe. Returns 0 or -ENOMEM. */
int sass_boards_left(const struct sass_arch *arch, const struct sass_insn *insns, uint32_t n, unsigned *left);

#endif
