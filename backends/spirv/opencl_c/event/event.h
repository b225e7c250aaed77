/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that describe calls of OpenCL C's built-in functions, and that list the places among a function's events.
 * The file event.c creates the events.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_EVENT_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_EVENT_H

#include "backends/spirv/opencl_c/unit.h"

/* an argument of a call of a built-in function of OpenCL C */
struct cl_argument {
	uint32_t spaces; /* pointer: the memory spaces to which it may point; otherwise 0 */
	/* size in bytes and number of vector elements, of the pointee for a pointer, otherwise of the argument */
	uint32_t bytes, count;
	bool image;
};
/* builtin.c: describe in *e a call of the built-in function with this name. */
void clread_builtin(const char *name, const struct cl_argument *arg, uint32_t nargs, struct cl_event *e);

/*
 * List in out[] the places of the requested kinds in a function, in the order of the text. Returns their number. If
 * `out` is NULL, only counts them.
 */
uint32_t gpubpf_cl_places(const struct gpubpf_cl_function *f, uint32_t kinds, struct cl_place *out);
/* Returns true if no BPF program can run at the place, regardless of the fields that the program reads. */
bool gpubpf_cl_is_hidden(const struct gpubpf_cl_function *f, const struct cl_place *place);

#endif
