/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the functions that a kernel calls. Compilers name functions in the kernel's own section $KERNEL$FUNCTION; their
 * places are the first instruction and each RET. Functions in other sections are listed with the reason why they have
 * no places.
 */
#ifndef GPUBPF_SASS_FUNCTIONS_H
#define GPUBPF_SASS_FUNCTIONS_H

#include "places.h"

struct sass_function {
	const char *name;
	uint32_t begin, end; /* begin: index of its first instruction. end: one past its last instruction. Both
	                            * are 0 if it is in another section. */
	const char *why;     /* the reason why its calls and returns are not known exactly; NULL: they are */
};

/* Calls fn for each function. A nonzero result of fn ends the walk and is returned. May also return -ENOMEM. */
int sass_functions_each(const struct sass_cubin *cubin, const struct sass_kernel *kernel, const struct sass_code *code,
			int (*fn)(void *arg, const struct sass_function *function), void *arg);
/* Calls fn for the places of a function whose kinds are in the set. A nonzero result of fn ends the walk and is
 * returned. */
int sass_function_places(const struct sass_code *code, const struct sass_function *function, uint32_t kinds,
			 int (*fn)(void *arg, const struct sass_place *place), void *arg);

#endif
