/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case of tests/backends/spirv/opencl_c is one OpenCL C file whose first lines describe its runs:
 *
 *   //@ options: -DX=1 -cl-fast-relaxed-math
 *   //@ header: name.h                       compile with clCompileProgram and this file of the folder
 *   //@ run: K 64,4,1 8,4,1 buf:4096 i32:-5 f32:1.5 local:256 bytes:0102ff img:16 sampler
 *   //@ arg: K 1 0xfffffffb                  env.arg[1] of K's last run
 *   //@ bytes: K 2 0102ff                    result of helper 520 for parameter 2
 *   //@ refused: K unnamed struct            K must be refused, and the reason contains these words
 *   //@ refused-as-il: K inexact           K must be refused for this reason if the program is IL
 *   //@ unbuildable: K                       K can be wrapped, but the vendor refuses its wrapper
 *   //@ build: all                           wraps and builds all kernels, run or not
 *   //@ places: K entry:4 exit:6           listed places of K's source, with their lines
 *   //@ inside: F mem:4 branch:5         the places of instructions in kernel or function F, kind by kind
 *   //@ barrier: K                           the reader must list K as a kernel with a barrier
 *
 * In a run, global and local sizes ("-": NULL) precede the arguments in order. All kernels that run are
 * wrapped at entry and exit. "refused" and "unbuildable" apply to sources only.
 */
#ifndef GPUBPF_TESTS_WRAP_CASE_H
#define GPUBPF_TESTS_WRAP_CASE_H

#include <stdint.h>

#include "core/wire/pool.h"

enum { MAX_LINES = 128, MAX_ARGS = 48 };

struct case_run {
	char kernel[128];
	uint32_t dim;
	size_t global[3], local[3];
	int has_local;
	char *arg[MAX_ARGS];
	uint32_t nargs;
};

struct case_check {
	char what[16], kernel[128];
	char *rest;
};

struct case_file {
	char *text;
	size_t size;
	const char *options;
	const char *header, *header_text; /* NULL: none */
	struct case_run run[MAX_LINES];
	uint32_t nruns;
	struct case_check check[MAX_LINES];
	uint32_t nchecks;
};

/* Returns 0, or -errno with the reason in *why. */
int case_load(const char *folder, const char *name, struct gpubpf_pool *pool, struct case_file *c, const char **why);

#endif
