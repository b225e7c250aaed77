/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that a kernel calls and that lie in its own section, as compilers call them after it ($KERNEL$FUNCTION), with
 * their places: the first instruction, and each RET. Those in sections of their own are listed with the reason for which they
 * have none.
 */
#ifndef GPUBPF_SASS_FUNCTIONS_H
#define GPUBPF_SASS_FUNCTIONS_H

#include "places.h"

struct sass_function {
	const char *name;
	uint32_t begin, end;       /* its instructions; of one in another section: none */
	const char *why;           /* its calls and returns cannot be told exactly; NULL: they can */
};

/* Each of them; fn's non-zero return ends the walk and is returned. -ENOMEM. */
int sass_functions_each(const struct sass_cubin *cubin, const struct sass_kernel *kernel, const struct sass_code *code,
			int (*fn)(void *arg, const struct sass_function *function), void *arg);
/* Its places of those kinds, likewise. */
int sass_function_places(const struct sass_code *code, const struct sass_function *function, uint32_t kinds,
			 int (*fn)(void *arg, const struct sass_place *place), void *arg);

#endif
