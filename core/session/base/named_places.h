/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches programs with named places in kernels, such as opcodes, source lines and marks (core/model/places.h). The
 * match needs the kernel's code, because only the code shows these names.
 */
#ifndef GPUBPF_SESSION_NAMED_PLACES_H
#define GPUBPF_SESSION_NAMED_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/target.h"
#include "core/wire/protocol.h"

struct gpubpf_prog;
struct gpubpf_unit;

#define GPUBPF_MAX_NAMED 64 /* maximum number of a session's programs at named places of one kind */
#define GPUBPF_MAX_SETS 16  /* maximum number of different sets of programs at places of one kind in a kernel */

/*
 * A kernel and the functions that it calls. `kernel` points into infos[n]; calls[i] is true if the kernel calls
 * infos[i].
 */
struct gpubpf_named_scope {
	const struct gpubpf_kernel_info *infos, *kernel;
	const bool *calls;
	uint32_t n;
};

/*
 * Returns the set of programs that match the place, as a bit mask. Bit i is the i-th program in the unit whose kind of
 * place is the same.
 */
uint64_t gpubpf_named_set(const struct gpubpf_unit *unit, const struct gpubpf_place *place);
/*
 * Store in sets[] the different non-empty results of gpubpf_named_set() for all places of a kind. Returns their number,
 * or GPUBPF_MAX_SETS + 1 if there are more than GPUBPF_MAX_SETS.
 */
uint32_t gpubpf_named_sets(const struct gpubpf_unit *unit, const struct gpubpf_named_scope *in, enum gpubpf_site kind,
			   uint64_t sets[GPUBPF_MAX_SETS]);
/*
 * Set in named[] the bit of every program that is in one of the sets. The bit's number is the program's index in the
 * unit.
 */
void gpubpf_named_mark(const struct gpubpf_unit *unit, enum gpubpf_site kind, const uint64_t *sets, uint32_t n,
		       uint8_t named[GPUBPF_PLAN_LINKS / 8]);
/*
 * Append to *to one insertion of `site` for each place of this kind at which exactly the programs in `set` run. Returns
 * 0 or -ENOMEM.
 */
int gpubpf_named_insert(const struct gpubpf_unit *unit, const struct gpubpf_named_scope *in, enum gpubpf_site kind,
			uint64_t set, uint32_t site, struct gpubpf_insertions *to);
/*
 * The first function returns true if the program runs at named places. The second returns the unit's first such
 * program, or NULL.
 */
bool gpubpf_prog_has_named_place(const struct gpubpf_prog *prog);
const struct gpubpf_prog *gpubpf_named_first_program(const struct gpubpf_unit *unit);

#endif
