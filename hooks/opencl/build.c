/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds. What a program is made of is noted before the runtime builds it, because with a callback the
 * call returns before the build is done; where the build fails there are no kernels that would ask.
 */
#include "opencl.h"

#include <stdlib.h>
#include <string.h>

/* The program's code as this build sees it: the same data, other options. */
static struct ocl_code *with_options(struct ocl_program *p, const char *options)
{
	struct ocl_code *from = p->code, *code;

	if (!from)
		return NULL; /* binaries keep what they have */
	code = ocl_code_new(from->kind, from->data, from->size, options);
	if (code)
		code->reason = from->reason;
	return code;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
						   const char *options,
						   void (CL_CALLBACK *notify)(cl_program, void *), void *user)
{
	struct ocl_program *p = ocl_table_find(OCL_PROGRAMS, program);

	if (p && p->code)
		ocl_program_built(p, devices ? n : 0, devices, with_options(p, options));
	return ocl->clBuildProgram(program, n, devices, options, notify, user);
}

static bool add_header(struct ocl_code *code, cl_program program, const char *name)
{
	struct ocl_program *p = ocl_table_find(OCL_PROGRAMS, program);
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
			code->reason = "includes a header whose text was not seen";
			return;
		}
}

CL_API_ENTRY cl_int CL_API_CALL
ocl_clCompileProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
		     cl_uint nheaders, const cl_program *headers, const char **names,
		     void (CL_CALLBACK *notify)(cl_program, void *), void *user)
{
	struct ocl_program *p = ocl_table_find(OCL_PROGRAMS, program);
	struct ocl_code *code = p ? with_options(p, options) : NULL;

	if (code) {
		add_headers(code, nheaders, headers, names);
		ocl_program_built(p, devices ? n : 0, devices, code);
	}
	return ocl->clCompileProgram(program, n, devices, options, nheaders, headers, names, notify, user);
}

/* What will come out of the link, noted before the inputs can change. */
static struct ocl_code *linked_code(cl_uint ndevices, const cl_device_id *devices, const char *options,
				    cl_uint n, const cl_program *inputs)
{
	struct ocl_code *code = ocl_code_new(GPUBPF_IMAGE_OPENCL_PARTS, NULL, 0, options);

	if (!code || !inputs || !n)
		return code;
	code->parts = calloc(n, sizeof(*code->parts));
	for (cl_uint i = 0; code->parts && i < n; i++) {
		struct ocl_program *p = ocl_table_find(OCL_PROGRAMS, inputs[i]);
		cl_device_id device = ndevices && devices ? devices[0] : p && p->ndevices ? p->devices[0] : NULL;
		struct ocl_code *part = p ? ocl_program_code(p, device) : NULL;

		if (part)
			code->parts[code->nparts++] = part;
		else
			code->reason = "linked with a program whose source was not seen";
	}
	return code;
}

CL_API_ENTRY cl_program CL_API_CALL
ocl_clLinkProgram(cl_context context, cl_uint n, const cl_device_id *devices, const char *options,
		  cl_uint ninputs, const cl_program *inputs, void (CL_CALLBACK *notify)(cl_program, void *),
		  void *user, cl_int *error)
{
	struct ocl_code *code = linked_code(n, devices, options, ninputs, inputs);
	cl_program linked = ocl->clLinkProgram(context, n, devices, options, ninputs, inputs, notify, user,
					       error);

	if (linked)
		ocl_program_new(linked, context, code);
	else
		ocl_code_put(code);
	return linked;
}
