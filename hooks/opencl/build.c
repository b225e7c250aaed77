/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds of programs. The layer records a program's inputs after the runtime has built it. If the call has a callback,
 * the layer records them before the build, because kernels may exist before the call returns. If the runtime then
 * refuses the build, the layer restores the previous record.
 */
#include "opencl.h"

#include <stdlib.h>
#include <string.h>

#define MODULE_CALL(type, name, call, code) \
	GPUBPF_HOST_CALL(type, call, code, .event = GPUBPF_HOST_MODULE, .function = name)

/*
 * Returns the program's code for a build with these options. Returns NULL for a program that was created from binaries,
 * or if out of memory.
 */
static struct ocl_code *with_options(struct ocl_program *p, const char *options)
{
	struct ocl_code *from = p->code, *code;

	if (!from)
		return NULL; /* the code of a program from binaries does not depend on options */
	code = ocl_code_new(from->kind, from->data, from->size, options);
	if (!code)
		return NULL;
	code->reason = from->reason;
	ocl_code_note_build(code);
	return code;
}

struct build {
	struct ocl_program *program;
	struct ocl_code *code;
	struct ocl_build *before;
	const cl_device_id *devices;
	cl_uint n;
	bool at_once;
};

/*
 * Record the build now if at_once is true, which means that the call has a callback. If `code` is NULL, the build is
 * not recorded at all.
 */
static struct build begin_build(struct ocl_program *p, cl_uint n, const cl_device_id *devices, struct ocl_code *code,
				bool at_once)
{
	struct build b = { p, code, NULL, devices, devices ? n : 0, at_once };

	if (code && at_once) {
		b.before = ocl_program_builds(p);
		ocl_program_note_build(p, b.n, b.devices, code);
	}
	return b;
}

/*
 * Record the build, or restore the previous record. If the runtime refuses a build (the program has kernels, or an
 * option is unknown), the program stays unchanged. A build that fails is recorded, since it may have succeeded for some
 * devices.
 */
static cl_int end_build(struct build *b, cl_int error)
{
	bool built = !error || error == CL_BUILD_PROGRAM_FAILURE || error == CL_COMPILE_PROGRAM_FAILURE;

	if (b->code && b->at_once && built)
		ocl_builds_drop(b->before);
	else if (b->code && b->at_once)
		ocl_program_restore_builds(b->program, b->before);
	else if (b->code && built)
		ocl_program_note_build(b->program, b->n, b->devices, b->code);
	else if (b->code)
		ocl_code_put(b->code);
	return error;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
						   const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
						   void *user)
{
	struct ocl_program *p = gpubpf_records_find(&ocl_programs, program);
	struct build b = begin_build(p, n, devices, p ? with_options(p, options) : NULL, notify);

	return end_build(&b, MODULE_CALL(cl_int, "clBuildProgram",
					 ocl->clBuildProgram(program, n, devices, options, notify, user), result));
}

static bool add_header(struct ocl_code *code, cl_program program, const char *name)
{
	struct ocl_program *p = gpubpf_records_find(&ocl_programs, program);
	struct gpubpf_hook_header *h = &code->headers[code->nheaders];
	char *data;

	if (!p || !p->code || p->code->kind != GPUBPF_IMAGE_OPENCL_C)
		return false;
	data = malloc(p->code->size + 1);
	h->name = strdup(name);
	h->data = data;
	h->size = p->code->size;
	code->nheaders++;
	if (!h->name || !data)
		return false;
	memcpy(data, p->code->data, h->size);
	return true;
}

static void add_headers(struct ocl_code *code, cl_uint n, const cl_program *programs, const char **names)
{
	if (!programs || !names || !n)
		return;
	code->headers = calloc(n, sizeof(*code->headers));
	for (cl_uint i = 0; i < n; i++)
		if (!code->headers || !add_header(code, programs[i], names[i])) {
			code->reason = "includes a header whose source is unknown";
			return;
		}
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clCompileProgram(cl_program program, cl_uint n, const cl_device_id *devices,
						     const char *options, cl_uint nheaders, const cl_program *headers,
						     const char **names, void(CL_CALLBACK *notify)(cl_program, void *),
						     void *user)
{
	struct ocl_program *p = gpubpf_records_find(&ocl_programs, program);
	struct ocl_code *code = p ? with_options(p, options) : NULL;
	struct build b;

	if (code)
		add_headers(code, nheaders, headers, names);
	b = begin_build(p, n, devices, code, notify);
	return end_build(&b, MODULE_CALL(cl_int, "clCompileProgram",
					 ocl->clCompileProgram(program, n, devices, options, nheaders, headers, names,
							       notify, user),
					 result));
}

/*
 * Returns the code of a linked program. It refers to the present code of the inputs, which the application may change
 * later.
 */
static struct ocl_code *linked_code(cl_uint ndevices, const cl_device_id *devices, const char *options, cl_uint n,
				    const cl_program *inputs)
{
	struct ocl_code *code = ocl_code_new(GPUBPF_IMAGE_OPENCL_PARTS, NULL, 0, options);

	if (!code || !inputs || !n)
		return code;
	code->parts = calloc(n, sizeof(*code->parts));
	for (cl_uint i = 0; code->parts && i < n; i++) {
		struct ocl_program *p = gpubpf_records_find(&ocl_programs, inputs[i]);
		cl_device_id device = ndevices && devices ? devices[0] : p && p->ndevices ? p->devices[0] : NULL;
		struct ocl_code *part = p ? ocl_program_code(p, device) : NULL;

		if (part)
			code->parts[code->nparts++] = part;
		else
			code->reason = "linked with a program whose source is unknown";
	}
	return code;
}

CL_API_ENTRY cl_program CL_API_CALL ocl_clLinkProgram(cl_context context, cl_uint n, const cl_device_id *devices,
						      const char *options, cl_uint ninputs, const cl_program *inputs,
						      void(CL_CALLBACK *notify)(cl_program, void *), void *user,
						      cl_int *error)
{
	struct ocl_code *code = linked_code(n, devices, options, ninputs, inputs);
	cl_program linked =
		MODULE_CALL(cl_program, "clLinkProgram",
			    ocl->clLinkProgram(context, n, devices, options, ninputs, inputs, notify, user, error),
			    error ? *error : CL_SUCCESS);

	if (linked)
		ocl_program_new(linked, context, code);
	else
		ocl_code_put(code);
	return linked;
}
