/* SPDX-License-Identifier: Apache-2.0 */

/* The scoreboards of inserted instructions: which are pending, and which instruction must wait for one. */
#ifndef GPUBPF_SASS_SCOREBOARD_H
#define GPUBPF_SASS_SCOREBOARD_H

#include "form.h"

#define SASS_PROBE_SB 5            /* the scoreboard that operations without one get */
#define SASS_ALL_BOARDS 0x3f

/* Updates the set of scoreboards that are pending after an instruction of a probe. */
unsigned sass_pending_boards(unsigned left, struct sass_insn insn);
/* The first instruction after i that depends on its registers waits for the scoreboard. */
void sass_insert_wait(struct sass_insn *insns, uint32_t n, uint32_t i, unsigned board);
/* Instructions of a probe got a scoreboard in `is`. Later instructions that touch their registers wait for it. */
void sass_insert_added_waits(const struct sass_insn *was, struct sass_insn *is, uint32_t n);

#endif
