/* SPDX-License-Identifier: Apache-2.0 */
/* A build job of the worker: the device to build for, and the parts to compile. */
#ifndef GPUBPF_BACKENDS_SPIRV_BUILD_JOB_H
#define GPUBPF_BACKENDS_SPIRV_BUILD_JOB_H

#include <stdbool.h>

#include "clapi.h"
#include "core/target.h"
#include "core/wire/pool.h"
#include "backends/spirv/wire/parts.h"

/* a device for which the worker builds, with its OpenCL context */
struct builder {
	const struct gpubpf_clapi *cl;
	cl_device_id device;
	cl_context context; /* NULL: released */
	/* the runtime is PoCL: library.h reduces the library of built-in functions that PoCL links */
	bool pocl;
	char name[96], driver[96];
};

/* one request to build a twin */
struct job {
	struct builder *builder;
	struct gpubpf_pool pool;
	const struct gpubpf_twin_image *pieces;
	struct gpubpf_cl_parts parts;         /* the parts of all pieces, in order */
	struct gpubpf_cl_parts containers[3]; /* decoded containers; gpubpf_cl_build() frees them */
	char *skip;                           /* [pieces->ntwins]: true excludes the twin */
	char *log;
	size_t log_size;
};

/*
 * builder.c: store in *out the builder of the device with these caps. The worker reuses it for later jobs. Returns 0,
 * or -errno and a diagnostic.
 */
int cl_builder_get(const struct gpubpf_device_caps *caps, struct builder **out, struct gpubpf_diag *diag);
/*
 * Release the contexts of all PoCL devices. These contexts share the library that LLVM has read. The caller must have
 * released all programs of these contexts.
 */
void cl_builder_close_pocl(void);
/* Create the builder's context again if cl_builder_close_pocl() released it. */
cl_int cl_builder_open(struct builder *b);

/* compile.c */
/* Compile one part. A binary from the application's clCompileProgram() needs no compilation and is linked unchanged. */
cl_int cl_compile_part(struct job *job, const struct gpubpf_cl_part *part, cl_program *out);
/*
 * Redirect standard output and standard error to /dev/null: compilers print there too (PoCL's clang prints the number
 * of errors), and the compiler's log has all errors. Pass saved[] to cl_restore_output().
 */
void cl_silence_output(int saved[2]);
void cl_restore_output(const int saved[2]);
/* Compile and link all twins that skip[] does not exclude. *out receives the program on success. */
cl_int cl_compile_and_link(struct job *job, cl_program *out);

#endif
