/* SPDX-License-Identifier: Apache-2.0 */

/* Scoreboards of inserted instructions: which scoreboards are still set, and which instruction must wait for a
 * scoreboard. */
#ifndef GPUBPF_SASS_SCOREBOARD_H
#define GPUBPF_SASS_SCOREBOARD_H

#include "form.h"

#define SASS_PROBE_SB 5            /* the scoreboard that the twin gives to an instruction without a scoreboard */
#define SASS_ALL_BOARDS 0x3f

/* Returns the scoreboards that may still be set after the instruction, if `left` may be set before it. */
unsigned sass_pending_boards(unsigned left, struct sass_insn insn);
/* Makes the first instruction after i that depends on the registers of instruction i wait for the scoreboard. */
void sass_insert_wait(struct sass_insn *insns, uint32_t n, uint32_t i, unsigned board);
/* `is` is a copy of `was` in which some instructions have got scoreboard SASS_PROBE_SB. Makes the later instructions
 * that depend on the registers of such an instruction wait for that scoreboard. */
void sass_insert_added_waits(const struct sass_insn *was, struct sass_insn *is, uint32_t n);

#endif
