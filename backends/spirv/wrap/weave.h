/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function's text with probes at its places. An expression with a place becomes one in parentheses, in which what it
 * needs is evaluated once, in its own order, and kept in variables of the function:
 *
 *     p[i]          (gpubpf_v7 = (*(gpubpf_x7_0 = &(p[i]))), gpubpf_on_..(gpubpf_at, gpubpf_x7_0, gpubpf_v7), gpubpf_v7)
 *     p[i] = v      (gpubpf_x7_1 = (v), gpubpf_x7_0 = &(p[i]), *gpubpf_x7_0 = gpubpf_x7_1, gpubpf_on_..(..), gpubpf_x7_1)
 *     p[i] =        ((*(gpubpf_x7_0 = &(p[i])))
 *       v             = (gpubpf_x7_1 = (v)), gpubpf_on_..(..), gpubpf_x7_1)
 *     p[i] += v     (gpubpf_v7 = ((*(gpubpf_x7_0 = &(p[i]))) += v), gpubpf_on_..(..), gpubpf_v7)
 *     f(p, v)       (gpubpf_x7_0 = (p), gpubpf_x7_1 = (v), gpubpf_v7 = f(gpubpf_x7_0, gpubpf_x7_1), .., gpubpf_v7)
 *
 * so that what the compiler sees around it, conversions and the operators that it may contract, is what it was. The rest of
 * the text stays. gpubpf_by_.. and gpubpf_on_.. are functions that fill the words behind the environment which programs read,
 * and call the sites: before and after. Functions that are called, with places in them or in what they call, are copied for
 * each twin, with the environment as their first parameter.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_WEAVE_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_WEAVE_H

#include <stdio.h>

#include "read.h"

/* programs where a function is called and where it returns */
struct cl_called {
	bool sites;                    /* are there any? */
	uint32_t call, call_exit;      /* in the job; UINT32_MAX: none */
};

struct gpubpf_weave {
	const struct gpubpf_cl_source *source;
	const struct gpubpf_cl_unit *unit;
	const struct gpubpf_lower_job *job;
	uint32_t function;         /* whose text it is */
	uint32_t twin;             /* the first site of the kernel */
	const struct cl_place *places; /* those that have a site, in the order of the events */
	uint32_t nplaces;
	const bool *copied;        /* [unit->nfunctions]: the twin has a copy of it */
	const struct cl_called *called; /* likewise: it has one that is called instead of it, or of its copy */
};

/* The type of the environment with its words, and the storage class of functions: each source once. */
void gpubpf_weave_type(FILE *out);
/* Declarations of the copies that the function calls, and the functions that fill the words. */
void gpubpf_weave_helpers(const struct gpubpf_weave *w, FILE *out);
/* For the beginning of the body: its variables. */
void gpubpf_weave_variables(const struct gpubpf_weave *w, FILE *out);
/* The body without its braces. */
void gpubpf_weave_body(const struct gpubpf_weave *w, FILE *out);
/* The name that calls of a function with places have. */
void gpubpf_weave_name(const struct gpubpf_weave *w, uint32_t function, FILE *out);
/* That of its copy. */
void gpubpf_weave_copy_name(const struct gpubpf_weave *w, uint32_t function, FILE *out);
/* "head(" to ")" of the function's copy. */
void gpubpf_weave_head(const struct gpubpf_weave *w, uint32_t function, FILE *out);

#endif
