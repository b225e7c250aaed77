/* SPDX-License-Identifier: Apache-2.0 */
/* A job of the worker: the device for which it builds, and the parts that it compiles. */
#ifndef GPUBPF_BACKENDS_SPIRV_BUILD_JOB_H
#define GPUBPF_BACKENDS_SPIRV_BUILD_JOB_H

#include "clapi.h"
#include "core/target.h"
#include "core/wire/pool.h"
#include "backends/spirv/wire/parts.h"

/* a device for which the worker builds, with its context */
struct builder {
	const struct gpubpf_clapi *cl;
	cl_device_id device;
	cl_context context;
	char name[96], driver[96];
};

/* one job */
struct job {
	struct builder *builder;
	struct gpubpf_pool pool;
	const struct gpubpf_twin_image *pieces;
	struct gpubpf_cl_parts parts;         /* the parts of all pieces, in order */
	struct gpubpf_cl_parts containers[3]; /* decoded containers; gpubpf_cl_build() frees them */
	char *skip;                           /* [pieces->ntwins]: the twin is left out */
	char *log;
	size_t log_size;
};

/* builder.c: the builder of the device with these caps, which the worker keeps for later jobs. 0 or -errno and a
 * diagnostic. */
int cl_builder_get(const struct gpubpf_device_caps *caps, struct builder **out, struct gpubpf_diag *diag);

/* compile.c */
/* Compile one part. A binary that clCompileProgram made needs no compiling; it is linked unchanged. */
cl_int cl_compile_part(struct job *job, const struct gpubpf_cl_part *part, cl_program *out);
/* Silence standard output and standard error, where compilers write too (PoCL's clang prints the number of errors). The
 * compiler's log has everything that matters. Pass saved[] to cl_restore_output(). */
void cl_silence_output(int saved[2]);
void cl_restore_output(const int saved[2]);
/* Compile and link the twins that skip[] does not exclude; *out on success. */
cl_int cl_compile_and_link(struct job *job, cl_program *out);

#endif
