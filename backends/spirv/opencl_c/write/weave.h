/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inserts probes into a function's text.
 *
 * Does: replaces an expression at a place by one in parentheses. It evaluates the operands once, in their original
 * order, into variables of the function:
 *
 *     p[i]          (gpubpf_v7 = (*(gpubpf_x7_0 = &(p[i]))), gpubpf_on_..(gpubpf_at, gpubpf_x7_0, gpubpf_v7), gpubpf_v7)
 *     p[i] = v      (gpubpf_x7_1 = (v), gpubpf_x7_0 = &(p[i]), *gpubpf_x7_0 = gpubpf_x7_1, gpubpf_on_..(..), gpubpf_x7_1)
 *     p[i] =        ((*(gpubpf_x7_0 = &(p[i])))
 *       v             = (gpubpf_x7_1 = (v)), gpubpf_on_..(..), gpubpf_x7_1)
 *     p[i] += v     (gpubpf_v7 = ((*(gpubpf_x7_0 = &(p[i]))) += v), gpubpf_on_..(..), gpubpf_v7)
 *     f(p, v)       (gpubpf_x7_0 = (p), gpubpf_x7_1 = (v), gpubpf_v7 = f(gpubpf_x7_0, gpubpf_x7_1), .., gpubpf_v7)
 *
 * Before: the events of each function, and the places that have sites.
 * After: text in which conversions around the expression, and operators that the compiler may contract with it, are
 * unchanged.
 * Requires: functions whose text can be copied.
 *
 * gpubpf_by_.. (before the expression) and gpubpf_on_.. (after it) store the words that programs read after the
 * environment, and call the sites. A called function that contains places, or calls one that does, is copied for each
 * twin; the copy takes the environment as its first parameter.
 */
#ifndef GPUBPF_BACKENDS_SPIRV_WRAP_WEAVE_H
#define GPUBPF_BACKENDS_SPIRV_WRAP_WEAVE_H

#include <stdio.h>

#include "backends/spirv/opencl_c/unit.h"

/* programs at a function's calls and returns */
struct cl_call_sites {
	bool has_sites;           /* `call` or `call_exit` is a site */
	uint32_t call, call_exit; /* indices in the job; UINT32_MAX: none */
};

struct gpubpf_weave {
	const struct gpubpf_cl_source *source;
	const struct gpubpf_cl_unit *unit;
	const struct gpubpf_lower_job *job;
	uint32_t function;             /* the function whose text is written */
	uint32_t twin;                 /* index of the kernel's first site */
	const struct cl_place *places; /* places with a site, in the order of the events */
	uint32_t nplaces;
	const bool *copied; /* [unit->nfunctions]: the twin has a copy of it */
	/* [unit->nfunctions]: whether a wrapper is called instead of the function, or of its copy */
	const struct cl_call_sites *called;
};

/* Declare, once per source, the environment with its words, and the storage class of our functions. */
void gpubpf_weave_type(FILE *out);
/* Declare the copies that the function calls, and define the functions that store the words. */
void gpubpf_weave_helpers(const struct gpubpf_weave *w, FILE *out);
/* Declare the variables at the start of the body. */
void gpubpf_weave_variables(const struct gpubpf_weave *w, FILE *out);
/* Write the body without its braces. */
void gpubpf_weave_body(const struct gpubpf_weave *w, FILE *out);
/* Write the name by which callers call a function that has programs at its calls, or a copy. */
void gpubpf_weave_name(const struct gpubpf_weave *w, uint32_t function, FILE *out);
/* Write the name of the function's copy. */
void gpubpf_weave_copy_name(const struct gpubpf_weave *w, uint32_t function, FILE *out);
/* Write the head of the function's copy, up to its ")". */
void gpubpf_weave_head(const struct gpubpf_weave *w, uint32_t function, FILE *out);

#endif
