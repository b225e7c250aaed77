/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes OpenCL calls whose stack use stack.py measures. Prints the results.
 *
 * `opencl all`: calls each hooked function, some twice.
 * `opencl small [BYTES]`: a thread with a stack of BYTES (PTHREAD_STACK_MIN) creates a kernel and launches it first.
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS 64

static const char *source = "kernel void add(global int *o, int n) { o[get_global_id(0)] += n; }\n"
			    "kernel void scale(global int *o, int n) { o[get_global_id(0)] *= n; }\n"
			    "kernel void plain(global int *o, int n) { o[get_global_id(0)] = n; }\n";

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_mem buffer;

static void good(cl_int err, const char *what)
{
	if (!err)
		return;
	printf("%s: error %d\n", what, err);
	exit(1);
}

static cl_program build(void)
{
	cl_int err;
	cl_program p = clCreateProgramWithSource(context, 1, &source, NULL, &err);

	good(err, "program");
	good(clBuildProgram(p, 0, NULL, "", NULL, NULL), "build");
	return p;
}

static cl_kernel kernel(cl_program p, const char *name)
{
	cl_int err;
	cl_kernel k = clCreateKernel(p, name, &err);

	good(err, name);
	return k;
}

static void set(cl_kernel k, int n)
{
	good(clSetKernelArg(k, 0, sizeof(buffer), &buffer), "argument 0");
	good(clSetKernelArg(k, 1, sizeof(n), &n), "argument 1");
}

static void launch(cl_kernel k, cl_event *event)
{
	size_t items = ITEMS;

	good(clEnqueueNDRangeKernel(queue, k, 1, NULL, &items, NULL, 0, NULL, event), "launch");
}

static int first(void)
{
	int value;

	good(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(value), &value, 0, NULL, NULL), "read");
	return value;
}

static void begin(void)
{
	int zero = 0;
	cl_int err;

	good(clGetPlatformIDs(1, &platform, NULL), "platform");
	good(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	good(err, "context");
	queue = clCreateCommandQueue(context, device, 0, &err);
	good(err, "queue");
	buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * sizeof(int), NULL, &err);
	good(err, "buffer");
	good(clEnqueueFillBuffer(queue, buffer, &zero, sizeof(zero), 0, ITEMS * sizeof(int), 0, NULL, NULL), "fill");
}

static void contexts(void)
{
	cl_uint n;
	cl_int err;
	cl_context_properties properties[] = { CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0 };
	cl_queue_properties ordered[] = { CL_QUEUE_PROPERTIES, 0, 0 };
	cl_command_queue q = clCreateCommandQueueWithProperties(context, device, ordered, &err);
	cl_context c;

	good(err, "queue with properties");
	good(clReleaseCommandQueue(q), "release of the queue");
	c = clCreateContextFromType(properties, CL_DEVICE_TYPE_ALL, NULL, NULL, &err);

	good(err, "context from type");
	good(clRetainContext(c), "retain");
	good(clGetContextInfo(c, CL_CONTEXT_REFERENCE_COUNT, sizeof(n), &n, NULL), "info");
	printf("references %u\n", n);
	good(clReleaseContext(c), "release");
	good(clReleaseContext(c), "release");
}

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *arg)
{
}

static void launches(cl_kernel k)
{
	size_t from[3] = { 0 }, region[3] = { sizeof(int), 1, 1 };
	cl_event event;
	int value;

	set(k, 3);
	for (int i = 0; i < 20; i++) {
		launch(k, &event);
		good(clSetEventCallback(event, CL_COMPLETE, on_event, NULL), "callback");
		good(clWaitForEvents(1, &event), "wait");
		clReleaseEvent(event);
	}
	good(clEnqueueTask(queue, k, 0, NULL, NULL), "task");
	good(clFinish(queue), "finish");
	good(clEnqueueReadBufferRect(queue, buffer, CL_TRUE, from, from, region, 0, 0, 0, 0, &value, 0, NULL, NULL), "rectangle");
	printf("%s: %d\n", "launched", value);
}

static void kernels(cl_program p)
{
	cl_kernel k = kernel(p, "add"), clone, all[3];
	cl_uint n;
	cl_int err;

	launches(k);
	clone = clCloneKernel(k, &err);
	if (clone) {
		launch(clone, NULL);
		clReleaseKernel(clone);
	}
	good(clCreateKernelsInProgram(p, 3, all, &n), "kernels");
	for (cl_uint i = 0; i < n; i++) {
		set(all[i], 2);
		launch(all[i], NULL);
		good(clReleaseKernel(all[i]), "release");
	}
	clRetainKernel(k);
	clReleaseKernel(k);
	clReleaseKernel(k);
	printf("kernels: %d\n", first());
}

/* Create a program from the binary of another program. */
static void binaries(cl_program p)
{
	const unsigned char *binary;
	unsigned char *bytes;
	size_t size;
	cl_int err;
	cl_kernel k;

	good(clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL), "size");
	binary = bytes = malloc(size);
	good(clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, NULL), "binary");
	p = clCreateProgramWithBinary(context, 1, &device, &size, &binary, NULL, &err);
	good(err, "program of a binary");
	good(clBuildProgram(p, 0, NULL, "", NULL, NULL), "build of a binary");
	k = kernel(p, "scale");
	set(k, 2);
	launch(k, NULL);
	clReleaseKernel(k);
	clReleaseProgram(p);
	printf("binary: %d\n", first());
}

static void linked(void)
{
	const char *name = "header.h", *text = "#include \"header.h\"\nkernel void added(global int *o, int n) { o[get_global_id(0)] += N; }\n",
		   *header = "#define N n\n";
	cl_int err;
	cl_program h = clCreateProgramWithSource(context, 1, &header, NULL, &err), all;
	cl_program p = clCreateProgramWithSource(context, 1, &text, NULL, &err);
	cl_kernel k;

	good(clCompileProgram(p, 0, NULL, "", 1, &h, &name, NULL, NULL), "compile");
	all = clLinkProgram(context, 0, NULL, "", 1, &p, NULL, NULL, &err);
	good(err, "link");
	k = kernel(all, "added");
	set(k, 2);
	launch(k, NULL);
	clReleaseKernel(k);
	clReleaseProgram(all);
	clRetainProgram(p);
	clReleaseProgram(p);
	clReleaseProgram(p);
	clReleaseProgram(h);
	printf("linked: %d\n", first());
}

/* Calls that a device may refuse; the agent must not change the error. */
static void refused(cl_program p)
{
	const cl_uint il[5] = { 0 };
	unsigned value = 0;
	cl_int err;
	cl_program q = clCreateProgramWithIL(context, il, sizeof(il), &err);

	if (q)
		clReleaseProgram(q);
	/* must fail: if this succeeds, Intel's runtime crashes later */
	clCreateProgramWithBuiltInKernels(context, 0, NULL, "none", &err);
	clSetProgramSpecializationConstant(p, 0, sizeof(value), &value);
	clGetExtensionFunctionAddress("clCreateCommandBufferKHR");
	clGetExtensionFunctionAddressForPlatform(platform, "clHostMemAllocINTEL");
}

static void memory(void)
{
	cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT32 };
	cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4 };
	size_t from[3] = { 0 }, region[3] = { 1, 1, 1 }, row;
	unsigned pixel[4];
	cl_int err;
	cl_mem m = clCreateBufferWithProperties(context, NULL, CL_MEM_READ_WRITE, 64, NULL, &err);
	void *at, *svm;

	good(err, "buffer with properties");
	at = clEnqueueMapBuffer(queue, m, CL_TRUE, CL_MAP_READ, 0, 64, 0, NULL, NULL, &err);
	good(err, "map");
	clEnqueueUnmapMemObject(queue, m, at, 0, NULL, NULL);
	clRetainMemObject(m);
	clReleaseMemObject(m);
	clReleaseMemObject(m);
	m = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc, NULL, &err);
	if (!err) {
		clEnqueueReadImage(queue, m, CL_TRUE, from, region, 0, 0, pixel, 0, NULL, NULL);
		at = clEnqueueMapImage(queue, m, CL_TRUE, CL_MAP_READ, from, region, &row, NULL, 0, NULL, NULL, &err);
		clEnqueueUnmapMemObject(queue, m, at, 0, NULL, NULL);
		clReleaseMemObject(m);
	}
	svm = clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0);
	clEnqueueSVMFree(queue, 1, &svm, NULL, NULL, 0, NULL, NULL);
}

static void shared(cl_program p)
{
	cl_kernel k = kernel(p, "plain");
	void *svm = clSVMAlloc(context, CL_MEM_READ_WRITE, ITEMS * sizeof(int), 0);

	if (svm) {
		set(k, 5);
		clSetKernelArgSVMPointer(k, 0, svm);
		clSetKernelExecInfo(k, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(svm), &svm);
		launch(k, NULL);
		clFinish(queue);
		printf("shared: %d\n", ((int *)svm)[ITEMS - 1]);
		clSVMFree(context, svm);
	}
	clReleaseKernel(k);
}

static void all(void)
{
	cl_program p;

	begin();
	contexts();
	p = build();
	kernels(p);
	binaries(p);
	linked();
	memory();
	shared(p);
	refused(p);
	clReleaseProgram(p);
	clReleaseMemObject(buffer);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
}

static void *in_thread(void *program)
{
	cl_kernel k = kernel(program, "add");

	set(k, 3);
	launch(k, NULL);
	return NULL;
}

static void small(size_t bytes)
{
	pthread_attr_t attr;
	pthread_t thread;
	cl_program p;

	begin();
	p = build();
	pthread_attr_init(&attr);
	good(pthread_attr_setstacksize(&attr, bytes), "size");
	good(pthread_create(&thread, &attr, in_thread, p), "thread");
	pthread_join(thread, NULL);
	clFinish(queue);
	printf("small: %d\n", first());
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "C.UTF-8");
	if (argc > 1 && !strcmp(argv[1], "small"))
		small(argc > 2 ? atoi(argv[2]) : PTHREAD_STACK_MIN);
	else
		all();
	return 0;
}
