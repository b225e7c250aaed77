/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the functions that a kernel calls. Compilers give functions in the kernel's own section names of the form
 * $KERNEL$FUNCTION. The places of such a function are its first instruction and each RET. A function in another section
 * is listed with the reason why it has no places.
 */
#ifndef GPUBPF_SASS_FUNCTIONS_H
#define GPUBPF_SASS_FUNCTIONS_H

#include "places.h"

struct sass_function {
	const char *name;
	uint32_t begin, end; /* begin: index of the first instruction. end: one past the last instruction. Both are 0
	                      * for a function in another section. */
	const char *why;     /* the reason why the function's calls and returns are not known exactly; NULL: they are
	                      * known */
};

/* Calls fn for each function that the kernel may call. A nonzero result of fn ends the walk and is returned. May
 * also return -ENOMEM. */
int sass_functions_each(const struct sass_cubin *cubin, const struct sass_kernel *kernel, const struct sass_code *code,
			int (*fn)(void *arg, const struct sass_function *function), void *arg);
/* Calls fn for each place of the function whose kind is in the set `kinds`. A nonzero result of fn ends the walk and
 * is returned. */
int sass_function_places(const struct sass_code *code, const struct sass_function *function, uint32_t kinds,
			 int (*fn)(void *arg, const struct sass_place *place), void *arg);

#endif
