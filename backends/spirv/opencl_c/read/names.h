/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that the compiler predefines in a function: __func__ (C99 6.4.2.2) and clang's others. A copy of the body
 * defines them as macros for strings with the original type and text. If the application has macros of these names,
 * they stay.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_NAMES_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_NAMES_H

#include <stdio.h>

struct cl_names {
	const char *name;
	const char *pretty; /* __PRETTY_FUNCTION__; NULL: the body does not use it */
};

/* Declare the types of the strings, before a copy's body, inside its function. */
void gpubpf_names_type(const struct cl_names *n, FILE *out);
/* Define the macros before a copy's text, and restore the earlier ones after it. */
void gpubpf_names_define(const struct cl_names *n, FILE *out);
void gpubpf_names_undefine(const struct cl_names *n, FILE *out);
/* Write a statement for the original function. It does not compile unless __PRETTY_FUNCTION__ has the expected
 * value. */
void gpubpf_names_check(const struct cl_names *n, FILE *out);

#endif
