/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of a kernel that may be in flight without a scoreboard that says when they end. Their results were dead to
 * the compiler, or nothing writes their sources again.
 *
 * Does:     follows each such operation along every path of the control-flow graph, until a wait covers it.
 * Before:   sass_code_read() has read the code.
 * After:    sass_flight_at_exit() says whether an operation may be in flight at an exit.
 * Requires: the classes in backends/cuda/sass/isa/isa.def. An operation of class FIXED completes within a known time, which stubs let pass.
 *
 * Only the order of its unit (backends/cuda/sass/isa/flight.def) ends an operation: a later operation of the unit sets a scoreboard, and an
 * instruction waits for it. Calls, and jumps with unknown targets, may lead anywhere.
 */
#ifndef GPUBPF_SASS_FLIGHT_H
#define GPUBPF_SASS_FLIGHT_H

#include "code.h"

struct sass_flights {
	uint32_t *at, n;           /* malloc'd: instructions that are such operations, rising */
	uint8_t *state;            /* malloc'd: state of operation k before instruction i, at [i * n + k]. NULL: all may
	                            * be in flight everywhere. */
};

/* Finds the operations that touch one of the first `regs` registers. 0, -ENOMEM. */
int sass_flights_find(const struct sass_code *code, uint32_t regs, struct sass_flights *flights);
void sass_flights_finish(struct sass_flights *flights);

/* May operation k be in flight at one of the kernel's exits, after a wait for all scoreboards? */
bool sass_flight_at_exit(const struct sass_code *code, const struct sass_flights *flights, uint32_t k);

#endif
