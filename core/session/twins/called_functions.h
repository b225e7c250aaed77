/* SPDX-License-Identifier: Apache-2.0 */
/* The device functions that a kernel calls, directly or indirectly: programs for functions run there
 * (core/model/places.def). */
#ifndef GPUBPF_SESSION_CALLED_FUNCTIONS_H
#define GPUBPF_SESSION_CALLED_FUNCTIONS_H

#include <stdbool.h>

#include "core/target.h"

struct gpubpf_prog;
struct gpubpf_unit;

#define GPUBPF_MAX_CALLS 64 /* maximum number of functions per kernel into which probe code is inlined */

/* Mark the functions that `kernel`, one of infos, calls: one malloc'd mark per info. NULL: out of memory. */
bool *gpubpf_calls_find(const struct gpubpf_kernel_info *infos, uint32_t n, const struct gpubpf_kernel_info *kernel);
/* Does a marked function call itself, directly or indirectly? Returns true when out of memory. */
bool gpubpf_calls_is_recursive(const struct gpubpf_kernel_info *infos, uint32_t n, const bool *calls);
/*
 * The names of the marked functions, each followed by ';', malloc'd. NULL: out of memory. The list is limited to 64
 * KiB, and starts with the functions that programs of the unit name.
 */
char *gpubpf_calls_list(const struct gpubpf_kernel_info *infos, uint32_t n, const bool *calls,
			const struct gpubpf_unit *unit);
/* Iterate over such a list: copies the next name to buf and returns the rest; NULL at the end. */
const char *gpubpf_calls_next(const char *list, char *buf, size_t size);

#define GPUBPF_MAX_PLACES 65536 /* limit on listed places of a kernel */

/* List the places of these kinds (bits of GPUBPF_SITE_BIT) in the kernel and in the marked functions, in one malloc'd
 * block that includes their names. NULL: out of memory. */
struct gpubpf_place *gpubpf_places_list(const struct gpubpf_kernel_info *infos, uint32_t n,
					const struct gpubpf_kernel_info *kernel, const bool *calls, uint32_t kinds,
					uint32_t *nplaces);

/* Is it a program for places in functions, not in kernels? */
bool gpubpf_prog_is_for_functions(const struct gpubpf_prog *prog);
/* Does the pattern of a program of the unit, which is for functions, match the function? */
bool gpubpf_calls_match(const struct gpubpf_unit *unit, const char *function);
/* The unit's first program for functions; NULL: there is none. */
const struct gpubpf_prog *gpubpf_calls_first_program(const struct gpubpf_unit *unit);

#endif
