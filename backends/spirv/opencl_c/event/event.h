/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a function's text: calls of OpenCL C's own functions, and places among the events. The file event.c lists the
 * events.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_EVENT_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_EVENT_H

#include "backends/spirv/opencl_c/unit.h"

/* an argument of a call of a function of OpenCL C */
struct cl_argument {
	uint32_t spaces;       /* if it is a pointer, the memory to which it may point; else 0 */
	uint32_t bytes, count; /* size and elements of the pointee, or of the argument itself */
	bool image;
};
/* builtin.c: describe the call of an OpenCL C function of that name in *e. */
void clread_builtin(const char *name, const struct cl_argument *arg, uint32_t nargs, struct cl_event *e);

/* List the places of these kinds in a function, in the order of its text; with `out` NULL, only count them. */
uint32_t gpubpf_cl_places(const struct gpubpf_cl_function *f, uint32_t kinds, struct cl_place *out);
/* Is every program at the place refused, whatever fields it reads? */
bool gpubpf_cl_is_hidden(const struct gpubpf_cl_function *f, const struct cl_place *place);

#endif
