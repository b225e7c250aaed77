/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of a kernel that may be in flight where no scoreboard tells when they end: their results were dead to the compiler, or
 * nothing writes their sources again.
 *
 * Does:     follows each such operation along every path of the control-flow graph, until something settles it.
 * Before:   sass_code_read() took the code.
 * After:    sass_flight_at() says of each operation whether it may be in flight before an instruction, and sass_flight_uses()
 *           which registers, uniform registers and predicates it writes or reads late.
 * Requires: the classes in isa.def. An operation of class FIXED lands within a known time, which stubs let pass.
 *
 * An operation is settled by nothing except the order of its unit (flight.def), where a later operation of the unit sets a
 * scoreboard and something waits for that. Calls, and jumps of which the code does not say where they lead, may lead anywhere.
 */
#ifndef GPUBPF_SASS_FLIGHT_H
#define GPUBPF_SASS_FLIGHT_H

#include "code.h"

struct sass_flights {
	uint32_t *at, n;           /* malloc'd: instructions that are such operations, rising */
	uint8_t *state;            /* malloc'd: before instruction i, of operation k, at [i * n + k]; NULL: all may be in flight
				    * everywhere */
};

/* Of operations that meet one of the first `regs` registers (sass_flight_meets()). 0, -ENOMEM. */
int sass_flights_find(const struct sass_code *code, uint32_t regs, struct sass_flights *flights);
void sass_flights_finish(struct sass_flights *flights);

/* May operation k be in flight before instruction i, after a wait for these scoreboards there? */
bool sass_flight_at(const struct sass_flights *flights, uint32_t i, uint32_t k, unsigned waits);
/* At any of the kernel's exits, after a wait for all scoreboards. */
bool sass_flight_at_exit(const struct sass_code *code, const struct sass_flights *flights, uint32_t k);

/* what an operation writes or reads late */
struct sass_late {
	bool written, read;        /* registers: the destination; the sources */
	bool uniform, predicate;   /* its destination is the warp's own; it writes a predicate as well */
};
/* Which of these no scoreboard guards; of what has no late work, and of arithmetic with a known time there, none. */
struct sass_late sass_flight_uses(const struct sass_arch *arch, struct sass_insn insn);
/* Does it write or read one of the registers below n late? Fields that hold something else count too. */
bool sass_flight_meets(const struct sass_arch *arch, struct sass_insn insn, uint32_t n);

#endif
