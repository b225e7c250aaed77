/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenCL workload of the examples that probe inside kernels; does not use gpubpf. It runs one kernel with `threads`
 * work-items in groups of `block`, and prints a checksum of the kernel's output. The kernel is OpenCL C source in the
 * program, or a file next to the program (workload.spv or workload.cl), or a file named on the command line.
 */
#ifndef EXAMPLES_INSIDE_H
#define EXAMPLES_INSIDE_H

#include <string.h>

#include "opencl.h"

static inline void *inside_read(const char *program, const char *name, const char *named, size_t *size)
{
	char path[4096];
	const char *slash = strrchr(program, '/');
	void *data = malloc(1 << 20);
	FILE *f;

	snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - program + 1) : 0, program, name);
	f = fopen(named ? named : path, "rb");
	if (!f || !data) {
		perror(named ? named : path);
		exit(1);
	}
	*size = fread(data, 1, 1 << 20, f);
	fclose(f);
	return data;
}

/* Run kernel(from, to) on buffers of `words` 32-bit numbers; the first buffer contains 0, 1, 2, ... */
static inline int inside_launch(struct opencl *cl, const char *name, size_t words, size_t threads, size_t block)
{
	cl_kernel kernel = opencl_kernel(cl, name);
	unsigned *data = calloc(words, sizeof(*data)), sum = 0;
	cl_mem from, to;

	for (size_t i = 0; i < words; i++)
		data[i] = i;
	from = opencl_buffer(cl, data, words * sizeof(*data));
	to = opencl_buffer(cl, NULL, words * sizeof(*data));
	check(clSetKernelArg(kernel, 0, sizeof(from), &from), "clSetKernelArg");
	check(clSetKernelArg(kernel, 1, sizeof(to), &to), "clSetKernelArg");
	opencl_run(cl, kernel, threads, block);
	opencl_read(cl, to, data, words * sizeof(*data));
	for (size_t i = 0; i < words; i++)
		sum = sum * 31 + data[i];
	printf("%s: %u\n", name, sum);
	clReleaseMemObject(from);
	clReleaseMemObject(to);
	clReleaseKernel(kernel);
	opencl_stop(cl);
	free(data);
	return 0;
}

#ifdef CL_VERSION_2_1
/* Returns true if the device accepts SPIR-V modules. For example, PoCL 3.1 does not. */
static inline int inside_il(cl_device_id device)
{
	char versions[256] = "";

	return clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, sizeof(versions), versions, NULL) == CL_SUCCESS && *versions;
}

/*
 * Run the kernel from the file on the command line, or from workload.spv, or from workload.cl if the device accepts no
 * SPIR-V.
 */
static inline int inside_run(int argc, char **argv, const char *name, size_t words, size_t threads, size_t block)
{
	struct opencl cl = { .device = first_device() };
	int il = argc > 1 || inside_il(cl.device);
	size_t size;
	char *code = inside_read(argv[0], il ? "workload.spv" : "workload.cl", argc > 1 ? argv[1] : NULL, &size);
	cl_int err;

	cl.context = clCreateContext(NULL, 1, &cl.device, NULL, NULL, &err);
	check(err, "clCreateContext");
	cl.queue = clCreateCommandQueue(cl.context, cl.device, 0, &err);
	check(err, "clCreateCommandQueue");
	cl.program = il ? clCreateProgramWithIL(cl.context, code, size, &err) :
			  clCreateProgramWithSource(cl.context, 1, (const char **)&code, &size, &err);
	check(err, il ? "clCreateProgramWithIL" : "clCreateProgramWithSource");
	check(clBuildProgram(cl.program, 1, &cl.device, "", NULL, NULL), "clBuildProgram");
	inside_launch(&cl, name, words, threads, block);
	free(code);
	return 0;
}
#endif

/* Run the kernel from this OpenCL C source. */
static inline int inside_source(const char *source, const char *name, size_t words, size_t threads, size_t block)
{
	struct opencl cl = opencl_start(source);

	return inside_launch(&cl, name, words, threads, block);
}

#endif
