/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that the compiler predefines in a function: __func__ (C99 6.4.2.2) and clang's others. A copy of its body defines them
 * as macros, as strings of the same type and text as in the function. The application's own macros of these names stay.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_NAMES_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_NAMES_H

#include <stdio.h>

struct cl_names {
	const char *name;
	const char *pretty;       /* __PRETTY_FUNCTION__; NULL: the body does not use it */
};

/* The types of the strings, before a copy's body, in its function. */
void gpubpf_names_type(const struct cl_names *n, FILE *out);
/* Define the macros before a copy's text, and restore the earlier ones after it. */
void gpubpf_names_define(const struct cl_names *n, FILE *out);
void gpubpf_names_drop(const struct cl_names *n, FILE *out);
/* A statement for the function itself: its compiler makes the same of __PRETTY_FUNCTION__, or refuses the twin. */
void gpubpf_names_check(const struct cl_names *n, FILE *out);

#endif
