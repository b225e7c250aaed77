/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the device functions that a kernel calls, directly or indirectly. Programs for functions run in them
 * (core/model/places.def).
 */
#ifndef GPUBPF_SESSION_CALLED_FUNCTIONS_H
#define GPUBPF_SESSION_CALLED_FUNCTIONS_H

#include <stdbool.h>

#include "core/target.h"

struct gpubpf_prog;
struct gpubpf_unit;

#define GPUBPF_MAX_CALLS 64 /* maximum functions of a kernel at which programs for functions run */

/*
 * Returns an array with one bool per info, which is true if `kernel` calls that function, directly or indirectly. The
 * array is malloc'd. NULL: out of memory.
 */
bool *gpubpf_calls_find(const struct gpubpf_kernel_info *infos, uint32_t n, const struct gpubpf_kernel_info *kernel);
/* Returns true if a marked function calls itself, directly or indirectly, and also if memory is short. */
bool gpubpf_calls_is_recursive(const struct gpubpf_kernel_info *infos, uint32_t n, const bool *calls);
/*
 * Returns the names of the marked functions, each followed by ';', malloc'd. NULL: out of memory. The list has at most
 * about 64 KiB. Functions that programs of the unit match come first.
 */
char *gpubpf_calls_list(const struct gpubpf_kernel_info *infos, uint32_t n, const bool *calls,
			const struct gpubpf_unit *unit);
/* Iterate over such a list: copies the next name to buf and returns the rest; NULL at the end. */
const char *gpubpf_calls_next(const char *list, char *buf, size_t size);

#define GPUBPF_MAX_PLACES 65536 /* limit on listed places of a kernel */

/*
 * List the places of these kinds (bits of GPUBPF_SITE_BIT) in the kernel and in the marked functions. The list and its
 * names are one malloc'd block. NULL: out of memory.
 */
struct gpubpf_place *gpubpf_places_list(const struct gpubpf_kernel_info *infos, uint32_t n,
					const struct gpubpf_kernel_info *kernel, const bool *calls, uint32_t kinds,
					uint32_t *nplaces);

/* Returns true if the program runs at places in functions, and not in kernels. */
bool gpubpf_prog_is_for_functions(const struct gpubpf_prog *prog);
/* Returns true if the pattern of a program for functions in the unit matches the function. */
bool gpubpf_calls_match(const struct gpubpf_unit *unit, const char *function);
/* Returns the unit's first program for functions, or NULL. */
const struct gpubpf_prog *gpubpf_calls_first_program(const struct gpubpf_unit *unit);

#endif
