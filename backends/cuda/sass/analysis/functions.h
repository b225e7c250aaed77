/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions in a kernel's section that it calls; compilers name them $KERNEL$FUNCTION. Their places are the first
 * instruction and each RET. Functions in other sections are listed with the reason why they have no places.
 */
#ifndef GPUBPF_SASS_FUNCTIONS_H
#define GPUBPF_SASS_FUNCTIONS_H

#include "places.h"

struct sass_function {
	const char *name;
	uint32_t begin, end;       /* its instructions; none if it is in another section */
	const char *why;           /* why its calls and returns are not known exactly; NULL: they are */
};

/* Calls fn for each function; fn's non-zero return ends the walk and is returned. -ENOMEM. */
int sass_functions_each(const struct sass_cubin *cubin, const struct sass_kernel *kernel, const struct sass_code *code,
			int (*fn)(void *arg, const struct sass_function *function), void *arg);
/* Calls fn for the function's places of these kinds, likewise. */
int sass_function_places(const struct sass_code *code, const struct sass_function *function, uint32_t kinds,
			 int (*fn)(void *arg, const struct sass_place *place), void *arg);

#endif
