/* SPDX-License-Identifier: Apache-2.0 */
/* Makes counting twins by editing OpenCL C source: for each kernel, a wrapper calls it between two atomic additions. */
#include "fake_tool.h"

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint32_t fake_twin_input_kind = GPUBPF_IMAGE_OPENCL_C, fake_twin_output_kind = GPUBPF_IMAGE_OPENCL_BINARY;

static const char *find_params(const char *source, const char *name, size_t *len)
{
	for (const char *at = source; (at = strstr(at, name)); at++) {
		const char *open = at + strlen(name), *close;

		if (at == source || !isspace((unsigned char)at[-1]) || *open != '(')
			continue;
		close = strchr(open, ')');
		*len = close - open - 1;
		return open + 1;
	}
	return NULL;
}

/* "__global int *a, uint b" -> "a, b" */
static uint32_t names_of(const char *params, size_t len, char *out, size_t size)
{
	char text[2048], *at = text, *part;
	uint32_t n = 0;

	snprintf(text, sizeof(text), "%.*s", (int)len, params);
	*out = 0;
	while ((part = strsep(&at, ","))) {
		char *end = part + strlen(part), *start;

		while (end > part && isspace((unsigned char)end[-1]))
			end--;
		for (start = end; start > part && (isalnum((unsigned char)start[-1]) || start[-1] == '_');)
			start--;
		if (start == end)
			continue;
		snprintf(out + strlen(out), size - strlen(out), "%s%.*s", n ? ", " : "", (int)(end - start), start);
		n++;
	}
	return n;
}

static char *wrap(const char *source, size_t size, char names[][128], const uint32_t *index, uint32_t *nparams,
		  uint32_t n)
{
	size_t room = size + n * 6000 + 1;
	char *text = malloc(room);

	memcpy(text, source, size);
	text[size] = 0;
	for (uint32_t i = 0; i < n; i++) {
		char args[1024];
		size_t len, at = strlen(text);
		const char *params = find_params(source, names[i], &len);

		if (!params)
			return NULL;
		nparams[i] = names_of(params, len, args, sizeof(args));
		snprintf(text + at, room - at,
			 "\n__kernel void gpubpf_twin_%s(%.*s%s__global uchar *gpubpf_arena, ulong gpubpf_launch, "
			 "ulong gpubpf_pid)\n{\n"
			 "	volatile __global uint *gpubpf_c = (volatile __global uint *)(gpubpf_arena + %u);\n"
			 "	atomic_inc(gpubpf_c);\n	%s(%s);\n	atomic_inc(gpubpf_c + 1);\n"
			 "	gpubpf_c[2] = (uint)gpubpf_launch;\n}\n",
			 names[i], (int)len, params, nparams[i] ? ", " : "", FAKE_COUNTS + 16 * index[i], names[i], args);
	}
	return text;
}

static cl_device_id find(const struct gpubpf_device_caps *caps)
{
	cl_platform_id platforms[16];
	cl_device_id devices[16];
	cl_uint n = 0, nd;
	char name[sizeof(caps->name)];

	clGetPlatformIDs(16, platforms, &n);
	for (cl_uint i = 0; i < n; i++) {
		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 16, devices, &nd))
			continue;
		for (cl_uint k = 0; k < nd; k++) {
			char all[512] = "";

			clGetDeviceInfo(devices[k], CL_DEVICE_NAME, sizeof(all), all, NULL);
			snprintf(name, sizeof(name), "%.95s", all);
			if (!strcmp(name, caps->name))
				return devices[k];
		}
	}
	return NULL;
}

int fake_twin_build(const struct gpubpf_device_caps *caps, const char *source, size_t size, const char *options,
		    char names[][128], const uint32_t *index, uint32_t *nparams, uint32_t n, void **binary,
		    size_t *binary_size)
{
	cl_device_id device = find(caps);
	const char *text = wrap(source, size, names, index, nparams, n);
	cl_context context;
	cl_program program;
	cl_int err;

	if (!device || !text)
		return -1;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &err);
	if (clBuildProgram(program, 1, &device, options, NULL, NULL)) {
		char log[4096] = "";

		clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
		fprintf(stderr, "%s\n", log);
		return -1;
	}
	if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(*binary_size), binary_size, NULL))
		return -1;
	*binary = malloc(*binary_size);
	return clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(*binary), binary, NULL);
}
