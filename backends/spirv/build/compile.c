/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles the parts of a job with the device's compiler, and links them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/spirv/common/options.h"
#include "job.h"
#include "library.h"

static void copy_log(struct job *job, cl_program program)
{
	const struct builder *b = job->builder;
	size_t size = 0;
	char *text;

	if (b->cl->clGetProgramBuildInfo(program, b->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS)
		return;
	text = calloc(1, size + 1);
	if (text && b->cl->clGetProgramBuildInfo(program, b->device, CL_PROGRAM_BUILD_LOG, size, text, NULL) == CL_SUCCESS)
		snprintf(job->log, job->log_size, "%s", text);
	free(text);
}

/*
 * Returns the part's compile options, malloc'd, or NULL if memory runs out. For OpenCL C source, adds
 * -DGPUBPF_SKIP_<site> for each excluded twin.
 */
static char *compile_options(const struct job *job, const struct gpubpf_cl_part *part)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "%s", part->options ? part->options : "");
	if (part->kind == GPUBPF_IMAGE_OPENCL_C)
		fprintf(out, " -w"); /* suppress warnings: the user did not write the text that the twin adds */
	for (uint32_t i = 0; part->kind == GPUBPF_IMAGE_OPENCL_C && i < job->pieces->ntwins; i++)
		if (job->skip[i])
			fprintf(out, " -DGPUBPF_SKIP_%u", job->pieces->twins[i]);
	return fclose(out) == 0 ? text : NULL;
}

static cl_program create(const struct builder *b, const struct gpubpf_cl_part *part, cl_int *err)
{
	const char *text = part->data;
	const unsigned char *bytes = part->data;

	switch (part->kind) {
	case GPUBPF_IMAGE_OPENCL_C:
		return b->cl->clCreateProgramWithSource(b->context, 1, &text, &part->size, err);
	case GPUBPF_IMAGE_SPIRV:
		*err = CL_INVALID_OPERATION;
		if (!b->cl->clCreateProgramWithIL)
			return NULL;
		return b->cl->clCreateProgramWithIL(b->context, part->data, part->size, err);
	default:
		return b->cl->clCreateProgramWithBinary(b->context, 1, &b->device, &part->size, &bytes, NULL, err);
	}
}

static cl_int compile_headers(const struct builder *b, cl_program program, const char *options,
			      const struct gpubpf_cl_part *part)
{
	uint32_t n = part->nheaders, made = 0;
	cl_program *headers = calloc(n + 1, sizeof(*headers));
	const char **names = calloc(n + 1, sizeof(*names));
	cl_int err = headers && names ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;

	for (; err == CL_SUCCESS && made < n; made++) {
		const char *text = part->headers[made].data;

		names[made] = part->headers[made].name;
		headers[made] = b->cl->clCreateProgramWithSource(b->context, 1, &text, &part->headers[made].size, &err);
	}
	if (err == CL_SUCCESS)
		err = b->cl->clCompileProgram(program, 1, &b->device, options, n, n ? headers : NULL, n ? names : NULL,
					      NULL, NULL);
	for (uint32_t i = 0; headers && i < made; i++)
		if (headers[i])
			b->cl->clReleaseProgram(headers[i]);
	free(headers);
	free(names);
	return err;
}

cl_int cl_compile_part(struct job *job, const struct gpubpf_cl_part *part, cl_program *out)
{
	const struct builder *b = job->builder;
	char *options = compile_options(job, part);
	cl_int err = CL_OUT_OF_HOST_MEMORY;

	*out = options ? create(b, part, &err) : NULL;
	if (*out && part->kind != GPUBPF_IMAGE_OPENCL_BINARY) {
		err = compile_headers(b, *out, options, part);
		if (err != CL_SUCCESS)
			copy_log(job, *out);
	}
	free(options);
	return *out ? err : err ? err : CL_OUT_OF_HOST_MEMORY;
}

/*
 * Link with as many of the application's options as the device accepts, because options that change code must be the
 * same in the twin. For example, Intel's runtime applies -cl-fast-relaxed-math at the link, but PoCL refuses it there.
 */
static cl_int link_parts(struct job *job, const cl_program *programs, cl_program *out)
{
	const struct builder *b = job->builder;
	const char *options[] = {
		gpubpf_cl_link_options(job->parts.link_options, 0, &job->pool),
		gpubpf_cl_link_options(job->parts.link_options, 1, &job->pool),
		"",
	};
	cl_int err = CL_OUT_OF_HOST_MEMORY;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (!options[i] || (i && strcmp(options[i], options[i - 1]) == 0))
			continue;
		*out = b->cl->clLinkProgram(b->context, 1, &b->device, options[i], job->parts.nparts, programs, NULL,
					    NULL, &err);
		if (*out && err == CL_SUCCESS)
			return CL_SUCCESS;
		if (*out) {
			copy_log(job, *out);
			b->cl->clReleaseProgram(*out);
			*out = NULL;
		}
	}
	return err ? err : CL_OUT_OF_HOST_MEMORY;
}

void cl_silence_output(int saved[2])
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(NULL);
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		saved[fd - STDOUT_FILENO] = null >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
		if (saved[fd - STDOUT_FILENO] >= 0)
			dup2(null, fd);
	}
	if (null >= 0)
		close(null);
}

void cl_restore_output(const int saved[2])
{
	fflush(NULL);
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (saved[fd - STDOUT_FILENO] >= 0) {
			dup2(saved[fd - STDOUT_FILENO], fd);
			close(saved[fd - STDOUT_FILENO]);
		}
}

/* -- PoCL's library -- */

/* Read the compiled binary of a part. Returns false if the runtime returns no binary. */
static bool read_object(struct job *job, cl_program program, struct cl_object *out)
{
	const struct gpubpf_clapi *cl = job->builder->cl;
	size_t size = 0;
	unsigned char *data;

	if (cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) != CL_SUCCESS || !size)
		return false;
	data = gpubpf_pool_alloc(&job->pool, size, 1);
	*out = (struct cl_object){ data, size };
	return data && cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(data), &data, NULL) == CL_SUCCESS;
}

/* Tell library.c which objects will be linked, so that PoCL reads only the built-in functions that they call. */
static void reduce_library(struct job *job, const cl_program *programs)
{
	uint32_t n = job->builder->pocl ? job->parts.nparts : 0;
	struct cl_object *objects = gpubpf_pool_alloc(&job->pool, n + 1, sizeof(*objects));
	bool all = objects;

	for (uint32_t i = 0; i < n && all; i++)
		all = read_object(job, programs[i], &objects[i]);
	cl_library_set_objects(objects, all ? n : 0);
}

/*
 * Open the builder's context. If PoCL read a reduced library for an earlier program, first release PoCL's contexts,
 * because this program may call functions that the reduced library lacks.
 */
static cl_int open_context(struct job *job)
{
	if (cl_library_take_reduced())
		cl_builder_close_pocl();
	return cl_builder_open(job->builder);
}

static cl_int compile_and_link(struct job *job, bool whole_library, cl_program *out)
{
	const struct builder *b = job->builder;
	cl_program *programs = calloc(job->parts.nparts + 1, sizeof(*programs));
	cl_int err = programs ? open_context(job) : CL_OUT_OF_HOST_MEMORY;

	job->log[0] = 0;
	for (uint32_t i = 0; err == CL_SUCCESS && i < job->parts.nparts; i++)
		err = cl_compile_part(job, &job->parts.part[i], &programs[i]);
	if (err == CL_SUCCESS && !whole_library)
		reduce_library(job, programs);
	if (err == CL_SUCCESS)
		err = link_parts(job, programs, out);
	cl_library_set_objects(NULL, 0);
	for (uint32_t i = 0; programs && i < job->parts.nparts; i++)
		if (programs[i])
			b->cl->clReleaseProgram(programs[i]);
	free(programs);
	return err;
}

cl_int cl_compile_and_link(struct job *job, cl_program *out)
{
	cl_int err;
	int saved[2];

	cl_silence_output(saved);
	err = compile_and_link(job, false, out);
	if (err != CL_SUCCESS && cl_library_is_reduced())
		err = compile_and_link(job, true, out);
	cl_restore_output(saved);
	return err;
}
