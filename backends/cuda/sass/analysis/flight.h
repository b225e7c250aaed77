/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds operations of a kernel that may be in flight without a scoreboard that says when they end. The compiler omitted
 * the scoreboard because the result is dead, or because nothing writes the sources again.
 *
 * Does:     follows each such operation along every path of the control-flow graph, until a wait covers it.
 * Before:   sass_code_read() has read the code.
 * After:    sass_flight_at_exit() says whether an operation may be in flight at an exit.
 * Requires: the classes in backends/cuda/sass/isa/isa.def. An operation of class FIXED completes within a known time,
 *           for which stubs stall.
 *
 * An operation ends only by the in-order execution of its unit (backends/cuda/sass/isa/flight.def): a later operation
 * of the unit sets a scoreboard, and an instruction waits for it. Calls, and jumps with unknown targets, may lead
 * anywhere.
 */
#ifndef GPUBPF_SASS_FLIGHT_H
#define GPUBPF_SASS_FLIGHT_H

#include "code.h"

struct sass_flights {
	uint32_t *at, n; /* malloc'd: indices of these operations, rising */
	uint8_t *state;  /* malloc'd: state (flight.c) of operation k before instruction i, at [i * n + k].
	                            * NULL: each may be in flight everywhere. */
};

/* Finds the operations that access one of the first `regs` registers. Returns 0 or -ENOMEM. */
int sass_flights_find(const struct sass_code *code, uint32_t regs, struct sass_flights *flights);
void sass_flights_finish(struct sass_flights *flights);

/* May operation k be in flight at one of the kernel's exits, after a wait for all scoreboards? */
bool sass_flight_at_exit(const struct sass_code *code, const struct sass_flights *flights, uint32_t k);

#endif
