/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCL code that all workloads share; does not use gpubpf. It opens the first device and a queue, and builds kernels
 * from source. Any error ends the program.
 */
#ifndef EXAMPLES_OPENCL_H
#define EXAMPLES_OPENCL_H

#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

struct opencl {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
};

static inline void check(cl_int err, const char *what)
{
	if (err == CL_SUCCESS)
		return;
	fprintf(stderr, "%s failed: OpenCL error %d\n", what, err);
	exit(1);
}

/* Returns the first device of any platform. */
static inline cl_device_id first_device(void)
{
	cl_platform_id platforms[16];
	cl_device_id device;
	cl_uint n = 0;

	check(clGetPlatformIDs(16, platforms, &n), "clGetPlatformIDs");
	for (cl_uint i = 0; i < n && i < 16; i++)
		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS)
			return device;
	fprintf(stderr, "no OpenCL device\n");
	exit(1);
}

static inline struct opencl opencl_start(const char *source)
{
	struct opencl cl = { .device = first_device() };
	char name[128] = "", log[4096] = "";
	cl_int err;

	clGetDeviceInfo(cl.device, CL_DEVICE_NAME, sizeof(name), name, NULL);
	cl.context = clCreateContext(NULL, 1, &cl.device, NULL, NULL, &err);
	check(err, "clCreateContext");
	cl.queue = clCreateCommandQueue(cl.context, cl.device, 0, &err);
	check(err, "clCreateCommandQueue");
	cl.program = clCreateProgramWithSource(cl.context, 1, &source, NULL, &err);
	check(err, "clCreateProgramWithSource");
	err = clBuildProgram(cl.program, 1, &cl.device, "", NULL, NULL);
	if (err != CL_SUCCESS)
		clGetProgramBuildInfo(cl.program, cl.device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
	fprintf(stderr, "%s", log);
	check(err, "clBuildProgram");
	printf("device: %s\n", name);
	return cl;
}

static inline cl_kernel opencl_kernel(const struct opencl *cl, const char *name)
{
	cl_int err;
	cl_kernel kernel = clCreateKernel(cl->program, name, &err);

	check(err, name);
	return kernel;
}

/* Returns a buffer that contains a copy of `data`, or zeros if `data` is NULL. */
static inline cl_mem opencl_buffer(const struct opencl *cl, const void *data, size_t size)
{
	void *zeros = data ? NULL : calloc(1, size);
	cl_int err;
	cl_mem mem = clCreateBuffer(cl->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size,
				    data ? (void *)data : zeros, &err);

	free(zeros);
	check(err, "clCreateBuffer");
	return mem;
}

static inline void opencl_run(const struct opencl *cl, cl_kernel kernel, size_t global, size_t local)
{
	check(clEnqueueNDRangeKernel(cl->queue, kernel, 1, NULL, &global, local ? &local : NULL, 0, NULL, NULL),
	      "clEnqueueNDRangeKernel");
}

static inline void opencl_read(const struct opencl *cl, cl_mem from, void *to, size_t size)
{
	check(clEnqueueReadBuffer(cl->queue, from, CL_TRUE, 0, size, to, 0, NULL, NULL), "clEnqueueReadBuffer");
}

static inline void opencl_stop(struct opencl *cl)
{
	clFinish(cl->queue);
	clReleaseProgram(cl->program);
	clReleaseCommandQueue(cl->queue);
	clReleaseContext(cl->context);
}

#endif
