/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the operations that have no scoreboard and may still be in flight when the kernel exits. The compiler omits the
 * scoreboard of an operation if its result is dead, or if no later instruction writes its sources.
 *
 * Does:     follows each such operation along every path of the control-flow graph, until a wait proves that the
 *           operation is complete.
 * Before:   sass_code_read() has read the code.
 * After:    at_exit[] says whether an operation may be in flight at an exit.
 * Requires: the classes in backends/cuda/sass/isa/isa.def. Operations of class FIXED complete within a known time, for
 *           which stubs stall.
 *
 * A later operation of the same in-order unit (backends/cuda/sass/isa/flight.def) may set a scoreboard. Once an
 * instruction has waited for that scoreboard, the earlier operation is complete too. Calls, and jumps with unknown
 * targets, may lead to any instruction.
 */
#ifndef GPUBPF_SASS_FLIGHT_H
#define GPUBPF_SASS_FLIGHT_H

#include "code.h"

struct sass_flights {
	uint32_t *at, n; /* `at`: malloc'd indices of the operations without a scoreboard, in rising order */
	bool *at_exit;   /* malloc'd; at_exit[k]: operation k may be in flight at an exit even after a wait for all
	                  * scoreboards */
};

/* Finds the operations without a scoreboard that access one of the first `regs` registers. Returns 0 or -ENOMEM. */
int sass_flights_find(const struct sass_code *code, uint32_t regs, struct sass_flights *flights);
void sass_flights_finish(struct sass_flights *flights);

#endif
