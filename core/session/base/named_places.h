/* SPDX-License-Identifier: Apache-2.0 */
/* Programs for places with names, such as opcodes, lines and marks (core/model/places.h). Only the kernel's code shows
 * which program matches which place. */
#ifndef GPUBPF_SESSION_NAMED_PLACES_H
#define GPUBPF_SESSION_NAMED_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/target.h"
#include "core/wire/protocol.h"

struct gpubpf_prog;
struct gpubpf_unit;

#define GPUBPF_MAX_NAMED 64 /* maximum programs of a session at places of one kind */
#define GPUBPF_MAX_SETS 16  /* maximum different sets of programs at places of one kind in a kernel */

/* A kernel, which is one of infos[n], and the functions that it calls: calls[i] is true if it calls infos[i]. */
struct gpubpf_named_scope {
	const struct gpubpf_kernel_info *infos, *kernel;
	const bool *calls;
	uint32_t n;
};

/* The unit's programs of the place's kind that match the place: bit i for the i-th program of that kind. */
uint64_t gpubpf_named_set(const struct gpubpf_unit *unit, const struct gpubpf_place *place);
/* Collects the different non-empty sets (gpubpf_named_set()) at the places of a kind. Returns their number, or
 * GPUBPF_MAX_SETS + 1 if there are too many. */
uint32_t gpubpf_named_sets(const struct gpubpf_unit *unit, const struct gpubpf_named_scope *in, enum gpubpf_site kind,
			   uint64_t sets[GPUBPF_MAX_SETS]);
/* Set the bits in named[], by program of the unit, for all programs in one of the sets. */
void gpubpf_named_mark(const struct gpubpf_unit *unit, enum gpubpf_site kind, const uint64_t *sets, uint32_t n,
		       uint8_t named[GPUBPF_PLAN_LINKS / 8]);
/* Insert a site at all places of its kind that have that set. 0, -ENOMEM. */
int gpubpf_named_insert(const struct gpubpf_unit *unit, const struct gpubpf_named_scope *in, enum gpubpf_site kind,
			uint64_t set, uint32_t site, struct gpubpf_insertions *to);
/* Is the program for places with names? gpubpf_named_first_program() returns the unit's first such program, or NULL. */
bool gpubpf_prog_has_named_place(const struct gpubpf_prog *prog);
const struct gpubpf_prog *gpubpf_named_first_program(const struct gpubpf_unit *unit);

#endif
