/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles names that the compiler predefines in a function: __func__ (C99 6.4.2.2) and similar names of clang. A copy
 * of a function has another name. It therefore defines these names as macros for strings with the original function's
 * value and type. If the application defines macros of these names, those macros stay.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_NAMES_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_NAMES_H

#include <stdio.h>

struct cl_names {
	const char *name;
	const char *pretty; /* value of __PRETTY_FUNCTION__; NULL: the body does not use it */
};

/* Declare the types of the strings inside the copied function, before its body. */
void gpubpf_names_type(const struct cl_names *n, FILE *out);
/*
 * Define the macros before the body of a copy. gpubpf_names_undefine() restores the earlier definitions after the body.
 */
void gpubpf_names_define(const struct cl_names *n, FILE *out);
void gpubpf_names_undefine(const struct cl_names *n, FILE *out);
/*
 * Write a statement for the original function that compiles only if __PRETTY_FUNCTION__ has the expected value there.
 */
void gpubpf_names_check(const struct cl_names *n, FILE *out);

#endif
