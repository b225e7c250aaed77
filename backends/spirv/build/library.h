/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PoCL links each program with its library of 23,000 OpenCL C built-in functions in LLVM bitcode. Reading all of them
 * takes more time than the rest of a twin's build. So when PoCL's LLVM opens the library file, the worker returns a
 * reduced copy. The copy has only the functions that the program calls, directly or indirectly. Their code is
 * unchanged.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_BUILD_LIBRARY_H
#define GPUBPF_BACKENDS_SPIRV_BUILD_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* compiled code, as clGetProgramInfo() returns it: bitcode, possibly inside PoCL's container */
struct cl_object {
	const void *data;
	size_t size;
};

/*
 * Sets the objects that the next program links. The reduced library gets the functions that they call. The caller keeps
 * the objects valid until it sets others. n == 0: PoCL reads its complete library.
 */
void cl_library_set_objects(const struct cl_object *objects, size_t n);

/*
 * Returns true if the runtime has read a reduced library. The runtime keeps that library until all its contexts are
 * released, so another program needs a new context.
 */
bool cl_library_is_reduced(void);
/* Returns cl_library_is_reduced() and resets it to false. The caller must release all contexts. */
bool cl_library_take_reduced(void);

/*
 * Opens a reduced copy of PoCL's library file at `path`. `caller` is an address in the LLVM library that opens the
 * file. Returns a file descriptor, or -1 if `path` is another file or the reduction failed.
 */
int cl_library_open(const char *path, const void *caller);

#endif
