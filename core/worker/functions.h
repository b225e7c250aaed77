/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the parameters and results of machine-code functions from the debug information of their ELF file. Optimizers
 * may change the parameters of functions that only their own module calls. Functions that may have changed are omitted.
 */
#ifndef GPUBPF_WORKER_FUNCTIONS_H
#define GPUBPF_WORKER_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/target.h"

#define GPUBPF_FUNCTION_PARAMS 31

struct gpubpf_function {
	uint64_t address;
	/* the parameters up to the first one that is neither a number nor a pointer */
	struct gpubpf_param params[GPUBPF_FUNCTION_PARAMS];
	uint32_t nparams;
	bool whole; /* `params` contains all parameters of the function */
	/* whether the type of the result is known; size of the result in bytes, 0 for void */
	bool returns;
	uint32_t result;
};

struct gpubpf_functions {
	struct gpubpf_function *list; /* malloc'd */
	size_t n;
};

/*
 * Reads the functions of an ELF file. The function does not change `image`, and `image` may be freed before the list.
 * Without debug information the list is empty.
 */
void gpubpf_functions_read(const void *image, size_t size, struct gpubpf_functions *functions);
/* Returns the function that begins at the address, or NULL if there is none in the list. */
const struct gpubpf_function *gpubpf_functions_at(const struct gpubpf_functions *functions, uint64_t address);
void gpubpf_functions_finish(struct gpubpf_functions *functions);

#endif
