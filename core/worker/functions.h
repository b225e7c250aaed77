/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What functions of machine code are given and return, from the debug information of their ELF image. Optimizers change the
 * parameters of functions that only their own module calls; what may have been changed is not known here.
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
	struct gpubpf_param params[GPUBPF_FUNCTION_PARAMS]; /* numbers and pointers, up to the first that is none */
	uint32_t nparams;
	bool whole;                    /* it has no others */
	bool returns;                  /* its result is known: of `result` bytes, 0: it has none */
	uint32_t result;
};

struct gpubpf_functions {
	struct gpubpf_function *list;  /* malloc'd */
	size_t n;
};

/* The image is not changed, and need not outlive the list. One without debug information has none. */
void gpubpf_functions_read(const void *image, size_t size, struct gpubpf_functions *functions);
/* The function that begins there; NULL: nothing is known of it. */
const struct gpubpf_function *gpubpf_functions_at(const struct gpubpf_functions *functions, uint64_t address);
void gpubpf_functions_finish(struct gpubpf_functions *functions);

#endif
