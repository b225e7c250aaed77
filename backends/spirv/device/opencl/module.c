/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles, links and builds OpenCL programs. If the vendor's compiler refuses a program, the start of its log is
 * reported.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

int ocl_error(struct gpubpf_reason *why, const char *what, cl_int code)
{
	snprintf(why->text, sizeof(why->text), "%s failed with OpenCL error %d", what, code);
	return code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES ? -ENOMEM : -EIO;
}

/* Copy the first error in the build log to why->text as one line. If the log has no error, copy its start. */
static void report_log(struct gpubpf_device *d, cl_program program, const char *what, cl_int code,
		       struct gpubpf_reason *why)
{
	const char *from;
	size_t size = 0;
	char *log;
	int n;

	ocl_error(why, what, code);
	if (!program || d->api.clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) || size < 2)
		return;
	log = calloc(1, size + 1);
	if (!log)
		return;
	d->api.clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
	from = strstr(log, "error:");
	n = snprintf(why->text, sizeof(why->text), "%s failed (%d): %s", what, code, from ? from : log);
	for (int i = 0; i < n && i < (int)sizeof(why->text) && why->text[i]; i++)
		if (why->text[i] == '\n')
			why->text[i] = ' ';
	free(log);
}

cl_program ocl_build(struct gpubpf_device *d, cl_program program, const char *options, struct gpubpf_reason *why)
{
	cl_int err = d->api.clBuildProgram(program, 1, &d->id, options, NULL, NULL);

	if (!err)
		return program;
	report_log(d, program, "building", err, why);
	d->api.clReleaseProgram(program);
	return NULL;
}

cl_program ocl_create(struct gpubpf_device *d, const struct ocl_piece *piece, struct gpubpf_reason *why)
{
	const char *text = piece->data;
	cl_program program;
	cl_int err;

	if (piece->il && !d->api.clCreateProgramWithIL) {
		snprintf(why->text, sizeof(why->text), "the OpenCL loader has no clCreateProgramWithIL");
		return NULL;
	}
	program = piece->il ? d->api.clCreateProgramWithIL(d->context, piece->data, piece->size, &err) :
			      d->api.clCreateProgramWithSource(d->context, 1, &text, &piece->size, &err);
	if (err) {
		ocl_error(why, "creating a program", err);
		return NULL;
	}
	return program;
}

static cl_program compile_piece(struct gpubpf_device *d, const struct ocl_piece *piece, struct gpubpf_reason *why)
{
	cl_program program = ocl_create(d, piece, why);
	cl_int err;

	if (!program)
		return NULL;
	err = d->api.clCompileProgram(program, 1, &d->id, piece->options, 0, NULL, NULL, NULL, NULL);
	if (err) {
		report_log(d, program, "compiling", err, why);
		d->api.clReleaseProgram(program);
		return NULL;
	}
	return program;
}

#define MAX_PIECES 3

cl_program ocl_link(struct gpubpf_device *d, const struct ocl_piece *pieces, uint32_t n, struct gpubpf_reason *why)
{
	cl_program parts[MAX_PIECES] = { NULL }, linked = NULL;
	uint32_t compiled = 0;
	cl_int err;

	while (compiled < n && compiled < MAX_PIECES && (parts[compiled] = compile_piece(d, &pieces[compiled], why)))
		compiled++;
	if (compiled == n) {
		linked = d->api.clLinkProgram(d->context, 1, &d->id, NULL, n, parts, NULL, NULL, &err);
		if (err) {
			report_log(d, linked, "linking", err, why);
			if (linked)
				d->api.clReleaseProgram(linked);
			linked = NULL;
		}
	}
	while (compiled)
		d->api.clReleaseProgram(parts[--compiled]);
	return linked;
}
