/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters and results of machine-code functions, from the debug information of their ELF image. Optimizers change
 * the parameters of functions that only their own module calls; functions that may have changed are omitted.
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
	struct gpubpf_param params[GPUBPF_FUNCTION_PARAMS]; /* the leading parameters that are numbers or pointers */
	uint32_t nparams;
	bool whole;   /* the function has no other parameters */
	bool returns; /* the type of its result is known; `result`: its bytes, 0 for void */
	uint32_t result;
};

struct gpubpf_functions {
	struct gpubpf_function *list; /* malloc'd */
	size_t n;
};

/*
 * Reads the functions. The image is not changed, and need not outlive the list. Without debug information the list is
 * empty.
 */
void gpubpf_functions_read(const void *image, size_t size, struct gpubpf_functions *functions);
/* Returns the function that begins at the address; NULL: unknown. */
const struct gpubpf_function *gpubpf_functions_at(const struct gpubpf_functions *functions, uint64_t address);
void gpubpf_functions_finish(struct gpubpf_functions *functions);

#endif
