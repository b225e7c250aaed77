/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the device library for an OpenCL device, and launches the kernels of kernels.cl on an arena. */
#ifndef GPUBPF_TESTS_MAPS_OPENCL_H
#define GPUBPF_TESTS_MAPS_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 210
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <unistd.h>

#include "tests/maps/fixture.h"
#include "tests/maps/device/kernels.h"
#include "tests/tap.h"

#define GROUP 64

static size_t items = 1 << 16;
static uint32_t out_words = 4;

struct gpu {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
};

static bool choose_device(const char *which)
{
	const char *intel = getenv("GPUBPF_TEST_INTEL"), *oclgrind = "/usr/lib/oclgrind/liboclgrind-rt-icd.so";

	if (!strcmp(which, "intel")) {
		if (!intel || access(intel, R_OK))
			return false;
		setenv("OCL_ICD_VENDORS", intel, 1);
	} else if (!strcmp(which, "oclgrind")) {
		if (access(oclgrind, R_OK))
			return false;
		setenv("OCL_ICD_VENDORS", oclgrind, 1);
		items = 1 << 10;
	}
	return true;
}

static bool open_gpu(struct gpu *gpu)
{
	cl_platform_id platform;
	char name[128] = "";
	cl_uint n = 0;

	if (clGetPlatformIDs(1, &platform, &n) || !n ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &gpu->device, NULL))
		return false;
	clGetDeviceInfo(gpu->device, CL_DEVICE_NAME, sizeof(name), name, NULL);
	note("%s, %zu work-items", name, items);
	gpu->context = clCreateContext(NULL, 1, &gpu->device, NULL, NULL, NULL);
	gpu->queue = clCreateCommandQueue(gpu->context, gpu->device, 0, NULL);
	return gpu->context && gpu->queue;
}

static void *read_whole(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	void *data = malloc(1 << 22);

	*size = file && data ? fread(data, 1, 1 << 22, file) : 0;
	if (file)
		fclose(file);
	return data;
}

static bool build(struct gpu *gpu, const char *spirv)
{
	const char *text = gpubpf_test_kernels, *version = getenv("GPUBPF_TEST_OPTIONS");
	char log[4096] = "";
	size_t size;

	if (spirv) {
		void *il = read_whole(spirv, &size);

		gpu->program = clCreateProgramWithIL(gpu->context, il, size, NULL);
		free(il);
	} else {
		gpu->program = clCreateProgramWithSource(gpu->context, 1, &text, NULL, NULL);
	}
	if (clBuildProgram(gpu->program, 1, &gpu->device, version, NULL, NULL) == 0)
		return true;
	clGetProgramBuildInfo(gpu->program, gpu->device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
	note("%s", log);
	return false;
}

/* Launch n work-items once on the fixture's arena. Copy the kernel's output words to out. */
static bool launch_dims(struct gpu *gpu, struct fixture *f, const char *name, cl_uint n, uint64_t *out,
			cl_uint dims, const size_t *global, const size_t *local)
{
	cl_kernel kernel = clCreateKernel(gpu->program, name, NULL);
	cl_mem arena, words;
	void *mapped;
	cl_int err;

	memset(out, 0, out_words * 8);
	arena = clCreateBuffer(gpu->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, f->layout.size, f->arena, &err);
	words = clCreateBuffer(gpu->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, out_words * 8, out, &err);
	err = clSetKernelArg(kernel, 0, sizeof(arena), &arena);
	err |= clSetKernelArg(kernel, 1, sizeof(n), &n);
	err |= clSetKernelArg(kernel, 2, sizeof(words), &words);
	err |= clEnqueueNDRangeKernel(gpu->queue, kernel, dims, NULL, global, local, 0, NULL, NULL);
	err |= clFinish(gpu->queue);
	err |= clEnqueueReadBuffer(gpu->queue, words, CL_TRUE, 0, out_words * 8, out, 0, NULL, NULL);
	/* if the device has its own copy, mapping the buffer copies it back to the host's memory */
	mapped = clEnqueueMapBuffer(gpu->queue, arena, CL_TRUE, CL_MAP_READ, 0, f->layout.size, 0, NULL, NULL, NULL);
	clEnqueueUnmapMemObject(gpu->queue, arena, mapped, 0, NULL, NULL);
	clFinish(gpu->queue);
	clReleaseMemObject(words);
	clReleaseMemObject(arena);
	clReleaseKernel(kernel);
	if (err)
		note("%s: OpenCL error %d", name, err);
	return err == 0;
}

static bool launch(struct gpu *gpu, struct fixture *f, const char *name, cl_uint n, uint64_t *out)
{
	size_t local = GROUP;

	return launch_dims(gpu, f, name, n, out, 1, &items, &local);
}

#endif
