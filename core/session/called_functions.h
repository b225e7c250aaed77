/* SPDX-License-Identifier: Apache-2.0 */
/* The device functions that a kernel calls, itself or by others: where programs of functions run (core/places.def). */
#ifndef GPUBPF_SESSION_CALLED_FUNCTIONS_H
#define GPUBPF_SESSION_CALLED_FUNCTIONS_H

#include <stdbool.h>

#include "core/target.h"

struct gpubpf_prog;
struct gpubpf_unit;

#define GPUBPF_MAX_CALLS 64 /* functions of a kernel that get probe code inlined */

/* Those of `kernel`, which is one of infos: a mark for each info, malloc'd. NULL: out of memory. */
bool *gpubpf_calls_find(const struct gpubpf_kernel_info *infos, uint32_t n, const struct gpubpf_kernel_info *kernel);
/* Does some function of these, marked as found, call itself, directly or by others? True if memory is out. */
bool gpubpf_calls_recurse(const struct gpubpf_kernel_info *infos, uint32_t n, const bool *calls);
/*
 * Their names, each ended by ';', malloc'd; NULL: out of memory. At most 64 KiB, which those that a program of the
 * unit names come first to fill.
 */
char *gpubpf_calls_list(const struct gpubpf_kernel_info *infos, uint32_t n, const bool *calls,
			const struct gpubpf_unit *unit);
/* Walk such a list: the next name into buf, and where the one after it begins; NULL past the end. */
const char *gpubpf_calls_next(const char *list, char *buf, size_t size);

#define GPUBPF_MAX_PLACES 65536 /* of a kernel that are listed */

/* The kernel's places of these kinds (GPUBPF_TAKES), its own and those of the functions marked as found: malloc'd with
 * the names that they point to. NULL: out of memory. */
struct gpubpf_place *gpubpf_places_list(const struct gpubpf_kernel_info *infos, uint32_t n,
					const struct gpubpf_kernel_info *kernel, const bool *calls, uint32_t kinds,
					uint32_t *nplaces);

/* Is the program for places of functions, and not of kernels? */
bool gpubpf_calls_wants(const struct gpubpf_prog *prog);
/* Does such a program of the unit name the function? */
bool gpubpf_calls_named(const struct gpubpf_unit *unit, const char *function);
/* The unit's first such program; NULL if it has none. */
const struct gpubpf_prog *gpubpf_calls_program(const struct gpubpf_unit *unit);

#endif
