/* SPDX-License-Identifier: Apache-2.0 */
#include "build.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/wire/clock.h"
#include "backends/spirv/wire/hollow.h"
#include "core/model/diag.h"
#include "job.h"
#include "backends/spirv/opencl_c/write/write.h"

#define MAX_ANSWER (16u << 20) /* size limit of the answer to a query, in bytes of the compiler's log */
/* maximum number of rebuilds after a build whose binary contains no code (backends/spirv/wire/hollow.h) */
#define MAX_REBUILDS 3

/*
 * Copy to line[] the first line of the log that contains "error", searching from `from` (NULL: from the start of the
 * log). Sets line[] to "" if no line contains it.
 */
static void find_error_line(const char *log, const char *from, char *line, size_t size)
{
	const char *at = strstr(from ? from : log, "error"), *end;

	line[0] = 0;
	if (!at)
		return;
	while (at > log && at[-1] != '\n')
		at--;
	end = strchr(at, '\n');
	snprintf(line, size, "%.*s", (int)(end ? end - at : (long)strlen(at)), at);
}

static void refuse(struct job *job, struct gpubpf_twin_image *out, uint32_t twin, const char *where)
{
	struct gpubpf_twin_refusal *r = &out->refused[out->nrefused++];
	char line[160];

	job->skip[twin] = 1;
	r->site = job->pieces->twins[twin];
	find_error_line(job->log, where, line, sizeof(line));
	snprintf(r->reason, sizeof(r->reason), "the device's compiler rejects its wrapper: %s",
		 line[0] ? line : "it prints no error");
}

/*
 * Refuse each twin whose wrapper has an error in the log: a line with "error" contains one of the wrapper's line
 * numbers (GPUBPF_WRAP_LINE). Returns the number of refused twins.
 */
static uint32_t refuse_by_log(struct job *job, struct gpubpf_twin_image *out)
{
	uint32_t found = 0;

	for (const char *at = job->log; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		size_t len = strcspn(at, "\n");

		for (const char *c = at; memmem(at, len, "error", 5) && c < at + len; c++) {
			char *end = NULL;
			unsigned long line = *c >= '1' && *c <= '9' ? strtoul(c, &end, 10) : 0;
			uint32_t site = line >= GPUBPF_WRAP_LINE ? (line - GPUBPF_WRAP_LINE) / GPUBPF_WRAP_LINES :
								   UINT32_MAX;

			for (uint32_t i = 0; line <= INT32_MAX && i < job->pieces->ntwins; i++)
				if (job->pieces->twins[i] == site && !job->skip[i]) {
					refuse(job, out, i, at);
					found++;
				}
			if (end)
				c = end - 1;
		}
	}
	return found;
}

/*
 * Build each twin separately and refuse each twin whose build fails. Used if the log of the joint build names no twin.
 * Returns true if at least one twin can be built.
 */
static int refuse_one_by_one(struct job *job, struct gpubpf_twin_image *out)
{
	uint32_t n = job->pieces->ntwins, good = 0;
	char *excluded = calloc(n + 1, 1);
	cl_program program;

	if (!excluded)
		return 0;
	memcpy(excluded, job->skip, n);
	for (uint32_t i = 0; i < n; i++) {
		if (excluded[i])
			continue;
		memset(job->skip, 1, n);
		job->skip[i] = 0;
		program = NULL;
		if (cl_compile_and_link(job, &program) == CL_SUCCESS) {
			job->builder->cl->clReleaseProgram(program);
			good++;
			continue;
		}
		refuse(job, out, i, NULL);
		excluded[i] = 1;
	}
	memcpy(job->skip, excluded, n);
	free(excluded);
	return good > 0;
}

/* Build the program with all twins. If the compiler rejects some twins, build the program without them. */
static cl_int build_accepted_twins(struct job *job, struct gpubpf_twin_image *out, cl_program *program)
{
	cl_int err = cl_compile_and_link(job, program);

	while (err != CL_SUCCESS && out->nrefused < job->pieces->ntwins && refuse_by_log(job, out)) {
		if (out->nrefused == job->pieces->ntwins)
			return err;
		err = cl_compile_and_link(job, program);
	}
	if (err != CL_SUCCESS && job->pieces->ntwins > 1 && refuse_one_by_one(job, out))
		err = cl_compile_and_link(job, program);
	return err;
}

/*
 * Store the program's binary in *blob. Returns -EAGAIN if the binary contains no code, -EINVAL if the runtime returns
 * no binary, or -ENOMEM.
 */
static int get_binary(struct job *job, cl_program program, struct gpubpf_blob *blob)
{
	const struct builder *b = job->builder;
	size_t size = 0;
	unsigned char *data;

	if (b->cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) != CL_SUCCESS || !size)
		return -EINVAL;
	data = malloc(size);
	if (!data)
		return -ENOMEM;
	if (b->cl->clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(data), &data, NULL) != CL_SUCCESS) {
		free(data);
		return -EINVAL;
	}
	if (gpubpf_pocl_binary_lacks_code(data, size)) {
		free(data);
		return -EAGAIN;
	}
	blob->data = data;
	blob->size = size;
	return 0;
}

static bool imports_clock(const struct gpubpf_cl_parts *parts)
{
	for (uint32_t i = 0; i < parts->nparts; i++)
		if (parts->part[i].kind == GPUBPF_IMAGE_SPIRV &&
		    gpubpf_spv_reads_clock(parts->part[i].data, parts->part[i].size))
			return true;
	return false;
}

static bool is_container(const struct gpubpf_twin_piece *piece)
{
	return piece->kind == GPUBPF_IMAGE_OPENCL_PARTS || piece->kind == GPUBPF_IMAGE_OPENCL_QUERY;
}

/* Skip the twins in the request's refused[] list. The tool fills that list. */
static void skip_refused(struct job *job)
{
	const struct gpubpf_twin_image *pieces = job->pieces;

	for (uint32_t r = 0; r < pieces->nrefused; r++)
		for (uint32_t i = 0; i < pieces->ntwins; i++)
			job->skip[i] |= pieces->twins[i] == pieces->refused[r].site;
}

/*
 * Store the parts of all pieces in job->parts. If a part imports gpubpf_clock_read(), append the source of that
 * function as another part.
 */
static int open_pieces(struct job *job, const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	const struct gpubpf_twin_image *pieces = job->pieces;
	const char *clock = gpubpf_cl_clock_source(caps->clock);
	uint32_t n = 1;

	for (uint32_t i = 0; i < pieces->npieces; i++) {
		int err = 0;

		if (is_container(&pieces->piece[i]))
			err = gpubpf_cl_parts_read(pieces->piece[i].blob.data, pieces->piece[i].blob.size,
						   &job->containers[i]);
		if (err < 0)
			return gpubpf_diag_set(diag, GPUBPF_E_PROTOCOL, GPUBPF_NOPC,
					       "a part of the twin's code is damaged");
		n += job->containers[i].nparts ? job->containers[i].nparts : 1;
	}
	job->parts.link_options = "";
	job->parts.part = gpubpf_pool_alloc(&job->pool, n, sizeof(*job->parts.part));
	job->skip = gpubpf_pool_alloc(&job->pool, pieces->ntwins, 1);
	if (!job->parts.part || !job->skip)
		return -ENOMEM;
	skip_refused(job);
	for (uint32_t i = 0; i < pieces->npieces; i++) {
		const struct gpubpf_twin_piece *piece = &pieces->piece[i];

		if (!is_container(piece))
			job->parts.part[job->parts.nparts++] = (struct gpubpf_cl_part){ piece->kind, piece->blob.data,
											piece->blob.size, piece->options };
		for (uint32_t k = 0; k < job->containers[i].nparts; k++)
			job->parts.part[job->parts.nparts++] = job->containers[i].part[k];
		if (job->containers[i].nparts)
			job->parts.link_options = job->containers[i].link_options;
	}
	if (imports_clock(&job->parts))
		job->parts.part[job->parts.nparts++] = (struct gpubpf_cl_part){ GPUBPF_IMAGE_OPENCL_C, clock,
										strlen(clock),
										gpubpf_cl_clock_options(caps->clock) };
	return 0;
}

static int list_twins(const struct job *job, struct gpubpf_twin_image *out)
{
	out->twins = calloc(job->pieces->ntwins + 1, sizeof(*out->twins));
	if (!out->twins)
		return -ENOMEM;
	for (uint32_t i = 0; i < job->pieces->ntwins; i++)
		if (!job->skip[i])
			out->twins[out->ntwins++] = job->pieces->twins[i];
	return 0;
}

static int run_job(struct job *job, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	cl_program program = NULL;
	char line[256];
	cl_int status;
	int err;

	out->refused = calloc(job->pieces->ntwins + 1, sizeof(*out->refused));
	if (!out->refused)
		return -ENOMEM;
	status = build_accepted_twins(job, out, &program);
	if (status != CL_SUCCESS) {
		find_error_line(job->log, NULL, line, sizeof(line));
		return gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC,
				       "the device's compiler cannot build the twin (error %d): %s", status,
				       line[0] ? line : "it prints no error");
	}
	out->piece[0].kind = GPUBPF_IMAGE_OPENCL_BINARY;
	out->piece[0].options = "";
	out->npieces = 1;
	err = list_twins(job, out);
	if (err == 0)
		err = get_binary(job, program, &out->piece[0].blob);
	for (int i = 0; i < MAX_REBUILDS && err == -EAGAIN; i++) {
		job->builder->cl->clReleaseProgram(program);
		program = NULL;
		err = cl_compile_and_link(job, &program) == CL_SUCCESS ? get_binary(job, program, &out->piece[0].blob) :
									 -EINVAL;
	}
	if (program)
		job->builder->cl->clReleaseProgram(program);
	if (err == -EAGAIN)
		gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC,
				"the OpenCL runtime returned a binary of the twin without code, perhaps because another process is "
				"compiling it; run the program again");
	if (err == -EINVAL)
		gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "the OpenCL runtime returned no binary of the twin");
	return err;
}

/*
 * Answer a query about OpenCL C source. The compiler rejects each part of a query with an error message that holds the
 * answer (backends/spirv/opencl_c/read/query.h). The result has one line per part.
 */
static int answer_query(struct job *job, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	char *text = NULL, *line;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	int saved[2];

	if (!file)
		return -ENOMEM;
	cl_silence_output(saved);
	for (uint32_t i = 0; i < job->parts.nparts; i++) {
		cl_program program = NULL;

		job->log[0] = 0;
		cl_compile_part(job, &job->parts.part[i], &program);
		if (program)
			job->builder->cl->clReleaseProgram(program);
		line = strstr(job->log, "gpubpf:@");
		fprintf(file, "%.*s\n", line ? (int)strcspn(line, "\n") : 0, line ? line : "");
	}
	cl_restore_output(saved);
	if (fclose(file)) {
		free(text);
		return -ENOMEM;
	}
	out->piece[0] = (struct gpubpf_twin_piece){ GPUBPF_IMAGE_OPENCL_QUERY, { text, size }, "" };
	out->npieces = 1;
	return 0;
}

static int run_query(struct job *job, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	int err;

	job->log_size = MAX_ANSWER;
	job->log = malloc(job->log_size);
	if (!job->log)
		return -ENOMEM;
	err = answer_query(job, out, diag);
	free(job->log);
	return err;
}

int gpubpf_cl_build(const struct gpubpf_device_caps *caps, const struct gpubpf_twin_image *pieces,
		    struct gpubpf_twin_image *out, char *log, size_t log_size, struct gpubpf_diag *diag)
{
	struct job job = { .pieces = pieces, .log = log, .log_size = log_size };
	struct gpubpf_twin_image made = { 0 };
	bool query = pieces->npieces == 1 && pieces->piece[0].kind == GPUBPF_IMAGE_OPENCL_QUERY;
	int err;

	err = cl_builder_get(caps, &job.builder, diag);
	if (err == 0)
		err = open_pieces(&job, caps, diag);
	if (err == 0)
		err = query ? run_query(&job, &made, diag) : run_job(&job, &made, diag);
	for (size_t i = 0; i < sizeof(job.containers) / sizeof(job.containers[0]); i++)
		gpubpf_cl_parts_finish(&job.containers[i]);
	gpubpf_pool_finish(&job.pool);
	if (err < 0) {
		free(made.refused);
		free(made.twins);
		return err;
	}
	*out = made;
	return 0;
}
