/* SPDX-License-Identifier: Apache-2.0 */
#include "build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clapi.h"
#include "backends/spirv/wire/clock.h"
#include "backends/spirv/wire/hollow.h"
#include "core/model/diag.h"
#include "core/wire/pool.h"
#include "backends/spirv/common/options.h"
#include "backends/spirv/wire/parts.h"
#include "backends/spirv/wire/settings.h"
#include "backends/spirv/opencl_c/write/write.h"

#define MAX_DEVICES 64
#define MAX_ANSWER (16u << 20) /* bytes of a compiler's log */
#define MAX_REBUILDS 3 /* builds again while the binary lacks its code */

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
	struct gpubpf_cl_parts parts;   /* of all pieces, in order */
	struct gpubpf_cl_parts read[3]; /* decoded containers, which the job must finish */
	char *skip;                     /* [pieces->ntwins]: the twin is left out */
	char *log;
	size_t log_size;
};

/* Does the device's name match the caps, up to the length that they store? *exact: the driver's version matches too. */
static bool same_device(const struct gpubpf_clapi *cl, cl_device_id device, const struct gpubpf_device_caps *caps,
			bool *exact)
{
	char name[256] = "", version[256] = "";

	cl->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL);
	cl->clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof(version), version, NULL);
	*exact = strstr(caps->driver, version) != NULL;
	return strncmp(name, caps->name, sizeof(caps->name) - 1) == 0;
}

/* The device with that name. If there are several, prefer the one with the same driver version. */
static cl_device_id find_device(const struct gpubpf_clapi *cl, const struct gpubpf_device_caps *caps)
{
	cl_platform_id platforms[16];
	cl_device_id devices[MAX_DEVICES], found = NULL;
	cl_uint np = 0, nd;
	bool exact;

	if (cl->clGetPlatformIDs(16, platforms, &np) != CL_SUCCESS)
		return NULL;
	for (cl_uint p = 0; p < np && p < 16; p++) {
		if (cl->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &nd) != CL_SUCCESS)
			continue;
		for (cl_uint d = 0; d < nd && d < MAX_DEVICES; d++) {
			if (!same_device(cl, devices[d], caps, &exact))
				continue;
			if (exact)
				return devices[d];
			if (!found)
				found = devices[d];
		}
	}
	return found;
}

/* Set the environment variables of the program whose twins are built. The runtime reads them only once in a process. */
static int apply_settings(const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	static char applied[sizeof(caps->settings)];
	static bool is_applied;

	if (!is_applied && !gpubpf_cl_settings_apply(caps->settings))
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC,
				       "the program sets too many variables of its OpenCL runtime (CL_CONFIG_*, POCL_*) for the "
				       "builder; unset some of them");
	if (is_applied && strcmp(applied, caps->settings))
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC,
				       "the program's variables of its OpenCL runtime (CL_CONFIG_*, POCL_*) differ from those of an "
				       "earlier program of this session; run it in a separate session");
	snprintf(applied, sizeof(applied), "%s", caps->settings);
	is_applied = true;
	return 0;
}

static int builder_get(const struct gpubpf_device_caps *caps, struct builder **out, struct gpubpf_diag *diag)
{
	static struct builder builders[MAX_DEVICES];
	static unsigned n;
	struct builder *b = builders;
	const char *why;
	cl_int err;

	err = apply_settings(caps, diag);
	if (err < 0)
		return err;
	for (; b < builders + n; b++) {
		*out = b;
		if (strcmp(b->name, caps->name) == 0 && strcmp(b->driver, caps->driver) == 0)
			return 0;
	}
	if (n == MAX_DEVICES)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC, "too many devices for one builder");
	b->cl = gpubpf_clapi(&why);
	if (!b->cl)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC, "the builder cannot load OpenCL: %s", why);
	b->device = find_device(b->cl, caps);
	if (!b->device)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC,
				       "the builder finds no OpenCL device named \"%s\"", caps->name);
	b->context = b->cl->clCreateContext(NULL, 1, &b->device, NULL, NULL, &err);
	if (!b->context)
		return gpubpf_diag_set(diag, GPUBPF_E_BACKEND, GPUBPF_NOPC,
				       "clCreateContext for \"%s\" failed with %d", caps->name, err);
	snprintf(b->name, sizeof(b->name), "%.95s", caps->name);
	snprintf(b->driver, sizeof(b->driver), "%.95s", caps->driver);
	n++;
	*out = b;
	return 0;
}

static void copy_log(struct job *job, cl_program program)
{
	const struct builder *b = job->builder;
	size_t size = 0;
	char *text;

	if (b->cl->clGetProgramBuildInfo(program, b->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS)
		return;
	text = calloc(1, size + 1);
	if (text && b->cl->clGetProgramBuildInfo(program, b->device, CL_PROGRAM_BUILD_LOG, size, text, NULL) ==
			    CL_SUCCESS)
		snprintf(job->log, job->log_size, "%s", text);
	free(text);
}

/* The part's options and a -D for each twin that is left out. */
static char *compile_options(const struct job *job, const struct gpubpf_cl_part *part)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "%s", part->options ? part->options : "");
	if (part->kind == GPUBPF_IMAGE_OPENCL_C)
		fprintf(out, " -w"); /* the user need not see warnings about text that the twin changed */
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
		headers[made] = b->cl->clCreateProgramWithSource(b->context, 1, &text, &part->headers[made].size,
								 &err);
	}
	if (err == CL_SUCCESS)
		err = b->cl->clCompileProgram(program, 1, &b->device, options, n, n ? headers : NULL,
					      n ? names : NULL, NULL, NULL);
	for (uint32_t i = 0; headers && i < made; i++)
		if (headers[i])
			b->cl->clReleaseProgram(headers[i]);
	free(headers);
	free(names);
	return err;
}

/* Compile one part. A binary that clCompileProgram made needs no compiling; it is linked unchanged. */
static cl_int compile_part(struct job *job, const struct gpubpf_cl_part *part, cl_program *out)
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

/* Link with as many of the application's options as the device accepts: options that change code must be the same in
 * the twin. Intel applies -cl-fast-relaxed-math at the link; PoCL refuses it there. */
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
		*out = b->cl->clLinkProgram(b->context, 1, &b->device, options[i], job->parts.nparts, programs,
					    NULL, NULL, &err);
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

/* Silence standard output and standard error, where compilers write too (PoCL's clang prints the number of errors). The
 * compiler's log has everything that matters. Pass saved[] to restore_output(). */
static void silence_output(int saved[2])
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

static void restore_output(const int saved[2])
{
	fflush(NULL);
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (saved[fd - STDOUT_FILENO] >= 0) {
			dup2(saved[fd - STDOUT_FILENO], fd);
			close(saved[fd - STDOUT_FILENO]);
		}
}

/* Compile and link the twins that skip[] does not exclude; *out on success. */
static cl_int compile_and_link(struct job *job, cl_program *out)
{
	const struct builder *b = job->builder;
	cl_program *programs = calloc(job->parts.nparts + 1, sizeof(*programs));
	cl_int err = programs ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
	int saved[2];

	job->log[0] = 0;
	silence_output(saved);
	for (uint32_t i = 0; err == CL_SUCCESS && i < job->parts.nparts; i++)
		err = compile_part(job, &job->parts.part[i], &programs[i]);
	if (err == CL_SUCCESS)
		err = link_parts(job, programs, out);
	restore_output(saved);
	for (uint32_t i = 0; programs && i < job->parts.nparts; i++)
		if (programs[i])
			b->cl->clReleaseProgram(programs[i]);
	free(programs);
	return err;
}

/* Copy the log's first line that names an error, searching from `from` or the start; "" if there is none. */
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

/* Refuse the twins into whose line numbers errors of the log point. Returns how many. */
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

/* The log points at no twin, so build each one separately. True if some twin can be built. */
static int refuse_one_by_one(struct job *job, struct gpubpf_twin_image *out)
{
	uint32_t n = job->pieces->ntwins, good = 0;
	char *left = calloc(n + 1, 1);
	cl_program program;

	if (!left)
		return 0;
	memcpy(left, job->skip, n);
	for (uint32_t i = 0; i < n; i++) {
		if (left[i])
			continue;
		memset(job->skip, 1, n);
		job->skip[i] = 0;
		program = NULL;
		if (compile_and_link(job, &program) == CL_SUCCESS) {
			job->builder->cl->clReleaseProgram(program);
			good++;
			continue;
		}
		refuse(job, out, i, NULL);
		left[i] = 1;
	}
	memcpy(job->skip, left, n);
	free(left);
	return good > 0;
}

/* Build all twins, or as many as the compiler accepts. */
static cl_int build_accepted_twins(struct job *job, struct gpubpf_twin_image *out, cl_program *program)
{
	cl_int err = compile_and_link(job, program);

	while (err != CL_SUCCESS && out->nrefused < job->pieces->ntwins && refuse_by_log(job, out)) {
		if (out->nrefused == job->pieces->ntwins)
			return err;
		err = compile_and_link(job, program);
	}
	if (err != CL_SUCCESS && job->pieces->ntwins > 1 && refuse_one_by_one(job, out))
		err = compile_and_link(job, program);
	return err;
}

/* Returns -EAGAIN if the binary lacks the code. */
static int get_binary(struct job *job, cl_program program, struct gpubpf_blob *blob)
{
	const struct builder *b = job->builder;
	size_t size = 0;
	unsigned char *data;

	if (b->cl->clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL) != CL_SUCCESS ||
	    !size)
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

/* Skip the twins that refused[] of the job names; the tool fills it in. */
static void skip_refused(struct job *job)
{
	const struct gpubpf_twin_image *pieces = job->pieces;

	for (uint32_t r = 0; r < pieces->nrefused; r++)
		for (uint32_t i = 0; i < pieces->ntwins; i++)
			job->skip[i] |= pieces->twins[i] == pieces->refused[r].site;
}

/* Collect the parts of all pieces in job->parts, and add the clock's source if a part imports the clock. */
static int open_pieces(struct job *job, const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	const struct gpubpf_twin_image *pieces = job->pieces;
	const char *clock = gpubpf_cl_clock_source(caps->clock);
	uint32_t n = 1;

	for (uint32_t i = 0; i < pieces->npieces; i++) {
		int err = 0;

		if (is_container(&pieces->piece[i]))
			err = gpubpf_cl_parts_read(pieces->piece[i].blob.data, pieces->piece[i].blob.size,
						   &job->read[i]);
		if (err < 0)
			return gpubpf_diag_set(diag, GPUBPF_E_PROTOCOL, GPUBPF_NOPC, "a piece of the twin is damaged");
		n += job->read[i].nparts ? job->read[i].nparts : 1;
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
			job->parts.part[job->parts.nparts++] = (struct gpubpf_cl_part){
				piece->kind, piece->blob.data, piece->blob.size, piece->options };
		for (uint32_t k = 0; k < job->read[i].nparts; k++)
			job->parts.part[job->parts.nparts++] = job->read[i].part[k];
		if (job->read[i].nparts)
			job->parts.link_options = job->read[i].link_options;
	}
	if (imports_clock(&job->parts))
		job->parts.part[job->parts.nparts++] = (struct gpubpf_cl_part){
			GPUBPF_IMAGE_OPENCL_C, clock, strlen(clock), gpubpf_cl_clock_options(caps->clock) };
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
				       "the device's compiler refused the twin (error %d): %s", status,
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
		err = compile_and_link(job, &program) == CL_SUCCESS ? get_binary(job, program, &out->piece[0].blob) :
								      -EINVAL;
	}
	if (program)
		job->builder->cl->clReleaseProgram(program);
	if (err == -EAGAIN)
		gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC,
				"the OpenCL runtime returned a binary of the twin without code, perhaps because another process is "
				"compiling it; run the program again");
	if (err == -EINVAL)
		gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC,
				"the OpenCL runtime returned no binary of the twin");
	return err;
}

/* Answer a query. The compiler refuses each part of a query with an error that holds the answer
 * (backends/spirv/opencl_c/read/query.h); the result has one line per part. */
static int answer_query(struct job *job, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	char *text = NULL, *line;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	int saved[2];

	if (!file)
		return -ENOMEM;
	silence_output(saved);
	for (uint32_t i = 0; i < job->parts.nparts; i++) {
		cl_program program = NULL;

		job->log[0] = 0;
		compile_part(job, &job->parts.part[i], &program);
		if (program)
			job->builder->cl->clReleaseProgram(program);
		line = strstr(job->log, "gpubpf:@");
		fprintf(file, "%.*s\n", line ? (int)strcspn(line, "\n") : 0, line ? line : "");
	}
	restore_output(saved);
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

	err = builder_get(caps, &job.builder, diag);
	if (err == 0)
		err = open_pieces(&job, caps, diag);
	if (err == 0)
		err = query ? run_query(&job, &made, diag) : run_job(&job, &made, diag);
	for (size_t i = 0; i < sizeof(job.read) / sizeof(job.read[0]); i++)
		gpubpf_cl_parts_finish(&job.read[i]);
	gpubpf_pool_finish(&job.pool);
	if (err < 0) {
		free(made.refused);
		free(made.twins);
		return err;
	}
	*out = made;
	return 0;
}
