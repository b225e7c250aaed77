/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments THREADS MODE: an OpenCL application that sets the arguments of its kernel once, launches it until SIGRTMIN,
 * and checks each result. It links the OpenCL library. It prints "ready", and at the end "launches N wrong N". THREADS
 * is not used. MODE is one of these words.
 *
 * Mode local: an argument in local memory.
 * Mode struct: a value of 32 bytes.
 * Mode clone: the kernel is a clone, and its arguments are set on the original.
 * Mode released: create, set and release 1000 kernels with fewer arguments before, so that handles are used again.
 * Mode extension: look up an extension function that sets arguments.
 * Mode null: a buffer that is NULL.
 */
#define CL_TARGET_OPENCL_VERSION 210
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS 256
#define CHURN 1000

static const char source[] =
	"struct big { int n[8]; };\n"
	"kernel void local_add(global int *a, local int *l, int n) { l[get_local_id(0)] = n; a[get_global_id(0)] += l[get_local_id(0)]; }\n"
	"kernel void struct_add(global int *a, struct big b) { a[get_global_id(0)] += b.n[7]; }\n"
	"kernel void null_add(global int *a, global int *b, int n) { a[get_global_id(0)] += b ? b[0] : n; }\n"
	"kernel void plain_add(global int *a, int n) { a[get_global_id(0)] += n; }\n";

static volatile sig_atomic_t stopped;
static cl_platform_id platform;
static cl_context context;
static cl_device_id device;
static cl_program program;
static cl_mem buffer;

static void on_stop(int signal)
{
	stopped = 1;
}

static void good(cl_int err, const char *what)
{
	if (!err)
		return;
	printf("%s: error %d\n", what, err);
	exit(2);
}

static cl_kernel create(const char *name)
{
	cl_int err;
	cl_kernel k = clCreateKernel(program, name, &err);

	good(err, name);
	good(clSetKernelArg(k, 0, sizeof(buffer), &buffer), "clSetKernelArg 0");
	return k;
}

static void set(cl_kernel k, cl_uint index, size_t size, const void *value)
{
	good(clSetKernelArg(k, index, size, value), "clSetKernelArg");
}

static cl_kernel create_mode(const char *mode)
{
	const cl_int n = 3, big[8] = { [7] = 3 }, wrong = 77;
	cl_kernel k, other;
	cl_int err;

	if (!strcmp(mode, "struct")) {
		k = create("struct_add");
		set(k, 1, sizeof(big), big);
		return k;
	}
	if (!strcmp(mode, "null")) {
		k = create("null_add");
		set(k, 1, sizeof(cl_mem), NULL);
		set(k, 2, sizeof(n), &n);
		return k;
	}
	if (!strcmp(mode, "extension"))
		clGetExtensionFunctionAddressForPlatform(platform, "clSetKernelArgMemPointerINTEL");
	for (int i = 0; i < CHURN && !strcmp(mode, "released"); i++) {
		k = create(i % 2 ? "plain_add" : "struct_add");
		set(k, 1, i % 2 ? sizeof(wrong) : sizeof(big), i % 2 ? (const void *)&wrong : big);
		clReleaseKernel(k);
	}
	if (!strcmp(mode, "local") || !strcmp(mode, "released")) {
		k = create("local_add");
		set(k, 1, 64 * sizeof(cl_int), NULL);
		set(k, 2, sizeof(n), &n);
		return k;
	}
	k = create("plain_add");
	set(k, 1, sizeof(n), &n);
	if (strcmp(mode, "clone"))
		return k;
	other = clCloneKernel(k, &err);
	good(err, "clCloneKernel");
	set(k, 1, sizeof(wrong), &wrong);
	return other;
}

int main(int argc, char **argv)
{
	const char *text = source, *mode = argc > 2 ? argv[2] : "";
	cl_int err, values[ITEMS] = { 0 }, want = 0;
	unsigned long launches = 0, wrong = 0;
	size_t items = ITEMS, local = 64;
	cl_command_queue q;
	cl_kernel k;

	signal(SIGRTMIN, on_stop);
	good(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	good(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &err);
	good(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof(values), values, &err);
	q = clCreateCommandQueue(context, device, 0, &err);
	k = create_mode(mode);
	puts("ready");
	fflush(stdout);
	for (; !stopped; launches++) {
		want += 3;
		good(clEnqueueNDRangeKernel(q, k, 1, NULL, &items, &local, 0, NULL, NULL), "clEnqueueNDRangeKernel");
		good(clEnqueueReadBuffer(q, buffer, CL_TRUE, 0, sizeof(values), values, 0, NULL, NULL),
		     "clEnqueueReadBuffer");
		for (int i = 0; i < ITEMS; i++)
			if (values[i] != want) {
				wrong++;
				break;
			}
	}
	printf("launches %lu wrong %lu\n", launches, wrong);
	return wrong != 0;
}
