/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared virtual memory: SVM pointers as arguments, pointers inside SVM that clSetKernelExecInfo() declares, and
 * Intel's unified shared memory if the device supports it.
 */
#include "app.h"

#include <CL/cl_ext.h>

enum { N = 1024 };

static const char source[] =
	"typedef struct { __global uint *far; uint add; } node_t;\n"
	"__kernel void plain(__global uint *data, uint with) { data[get_global_id(0)] += with + get_global_id(0); }\n"
	"__kernel void through(__global node_t *node, __global uint *out)\n"
	"{ size_t i = get_global_id(0); node->far[i] = node->far[i] * 3 + node->add; out[i] = node->far[i]; }\n";

struct node {
	uint32_t *far;
	uint32_t add;
};

static void map(void *p, size_t size, cl_map_flags flags)
{
	CHECK(clEnqueueSVMMap(app_queue, CL_TRUE, flags, p, size, 0, NULL, NULL));
}

static void unmap(void *p)
{
	CHECK(clEnqueueSVMUnmap(app_queue, p, 0, NULL, NULL));
}

static void fill(uint32_t *p)
{
	map(p, N * 4, CL_MAP_WRITE);
	for (uint32_t i = 0; i < N; i++)
		p[i] = i * 7;
	unmap(p);
}

static void show(uint32_t *p)
{
	map(p, N * 4, CL_MAP_READ);
	app_digest(p, N * 4);
	unmap(p);
}

static void coarse(cl_program program)
{
	uint32_t *data = clSVMAlloc(app_context, CL_MEM_READ_WRITE, N * 4, 0);
	uint32_t *out = clSVMAlloc(app_context, CL_MEM_READ_WRITE, N * 4, 0);
	struct node *node = clSVMAlloc(app_context, CL_MEM_READ_WRITE, sizeof(*node), 0);
	cl_kernel plain = app_kernel(program, "plain"), through = app_kernel(program, "through");

	fill(data);
	fill(out);
	CHECK(clSetKernelArgSVMPointer(plain, 0, data));
	app_arg_u32(plain, 1, 5);
	app_launch1(plain, N, 64);
	CHECK(clSetKernelArgSVMPointer(plain, 0, data + N / 2));
	app_launch1(plain, N / 2, 0);
	map(node, sizeof(*node), CL_MAP_WRITE);
	node->far = data;
	node->add = 99;
	unmap(node);
	CHECK(clSetKernelArgSVMPointer(through, 0, node));
	CHECK(clSetKernelArgSVMPointer(through, 1, out));
	CHECK(clSetKernelExecInfo(through, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(void *), &data));
	app_launch1(through, N, 32);
	app_launch1(through, N, 32);
	show(data);
	show(out);
	CHECK(clReleaseKernel(plain));
	CHECK(clReleaseKernel(through));
	clSVMFree(app_context, data);
	clSVMFree(app_context, out);
	clSVMFree(app_context, node);
}

static void unified(cl_program program)
{
	clSharedMemAllocINTEL_fn alloc = clGetExtensionFunctionAddressForPlatform(app_platform, "clSharedMemAllocINTEL");
	clMemBlockingFreeINTEL_fn release =
		clGetExtensionFunctionAddressForPlatform(app_platform, "clMemBlockingFreeINTEL");
	clSetKernelArgMemPointerINTEL_fn set =
		clGetExtensionFunctionAddressForPlatform(app_platform, "clSetKernelArgMemPointerINTEL");
	cl_kernel plain;
	uint32_t *data;
	cl_int err;

	if (!alloc || !set || !release)
		return;
	plain = app_kernel(program, "plain");
	data = alloc(app_context, app_device, NULL, N * 4, 0, &err);
	CHECK(err);
	memset(data, 0, N * 4);
	CHECK(set(plain, 0, data));
	app_arg_u32(plain, 1, 123);
	for (int i = 0; i < 3; i++)
		app_launch1(plain, N, 64);
	CHECK(clFinish(app_queue));
	app_digest(data, N * 4);
	CHECK(clReleaseKernel(plain));
	CHECK(release(app_context, data));
}

int main(void)
{
	cl_device_svm_capabilities svm = 0;
	cl_program program;

	app_open();
	clGetDeviceInfo(app_device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL);
	if (!(svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
		app_lacks("shared virtual memory");
	program = app_program(source, "");
	coarse(program);
	unified(program);
	CHECK(clReleaseProgram(program));
	return app_close();
}
