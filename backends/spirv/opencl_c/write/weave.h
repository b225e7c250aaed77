/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inserts probes into a function's text.
 *
 * Does: replaces each expression at a place by an expression in parentheses, which also calls the BPF programs. The new
 * expression evaluates the operands once, in their original order, into variables of the function.
 *
 *     p[i]          (gpubpf_v7 = (*(gpubpf_x7_0 = &(p[i]))), gpubpf_on_..(gpubpf_at, gpubpf_x7_0, gpubpf_v7), gpubpf_v7)
 *     p[i] = v      (gpubpf_x7_1 = (v), gpubpf_x7_0 = &(p[i]), *gpubpf_x7_0 = gpubpf_x7_1, gpubpf_on_..(..), gpubpf_x7_1)
 *     p[i] =        ((*(gpubpf_x7_0 = &(p[i])))
 *       v             = (gpubpf_x7_1 = (v)), gpubpf_on_..(..), gpubpf_x7_1)
 *     p[i] += v     (gpubpf_v7 = ((*(gpubpf_x7_0 = &(p[i]))) += v), gpubpf_on_..(..), gpubpf_v7)
 *     f(p, v)       (gpubpf_x7_0 = (p), gpubpf_x7_1 = (v), gpubpf_v7 = f(gpubpf_x7_0, gpubpf_x7_1), .., gpubpf_v7)
 *
 * Before: the events of each function are known, and the places that have sites.
 * After: conversions around the expression are unchanged, and so are operators that the compiler may contract with it.
 * Requires: the text of each function with places can be copied.
 *
 * In the generated code, gpubpf_by_.. runs before the expression and gpubpf_on_.. after it. These functions store words
 * in struct gpubpf_at, after the environment, and then call the sites. They store only the words that BPF programs
 * read. Each twin has a copy of every called function that contains places, or that calls such a function. The copy
 * takes a pointer to struct gpubpf_at as its first parameter.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_WEAVE_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_WEAVE_H

#include <stdio.h>

#include "backends/spirv/opencl_c/unit.h"

/* the sites at calls of a function and at its returns */
struct cl_call_sites {
	bool has_sites;           /* `call` or `call_exit` is not UINT32_MAX */
	uint32_t call, call_exit; /* indices in the job's sites; UINT32_MAX: no site */
};

struct gpubpf_weave {
	const struct gpubpf_cl_source *source;
	const struct gpubpf_cl_unit *unit;
	const struct gpubpf_lower_job *job;
	uint32_t function;             /* index in the unit of the function whose text is written */
	uint32_t twin;                 /* index of the kernel's first site; part of the generated names */
	const struct cl_place *places; /* the function's places that have a site, in the order of the events */
	uint32_t nplaces;
	const bool *copied; /* [unit->nfunctions]: the twin contains a copy of the function */
	/* [unit->nfunctions]: if has_sites is set, callers call a wrapper instead of the function or its copy */
	const struct cl_call_sites *called;
};

/*
 * Declare struct gpubpf_at, which holds the environment and then the words of the context. Also define the macro
 * GPUBPF_STATIC. An include guard allows the text to occur several times in a source.
 */
void gpubpf_weave_type(FILE *out);
/*
 * Declare the sites and types that the function's places use, and define the functions that store the context's words
 * and call the sites.
 */
void gpubpf_weave_helpers(const struct gpubpf_weave *w, FILE *out);
/* Declare the variables that hold operands and values, for the start of the function's body. */
void gpubpf_weave_variables(const struct gpubpf_weave *w, FILE *out);
/* Write the function's body with its events replaced, without the braces. */
void gpubpf_weave_body(const struct gpubpf_weave *w, FILE *out);
/*
 * Write the name by which the twin calls the function: the name of its wrapper if it has sites at calls, otherwise of
 * its copy.
 */
void gpubpf_weave_name(const struct gpubpf_weave *w, uint32_t function, FILE *out);
void gpubpf_weave_copy_name(const struct gpubpf_weave *w, uint32_t function, FILE *out);
/* Write the declaration of the function's copy, up to its closing parenthesis. */
void gpubpf_weave_head(const struct gpubpf_weave *w, uint32_t function, FILE *out);

#endif
