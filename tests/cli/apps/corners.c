/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corners callback: launches a kernel in an event's callback, which may run in the runtime's only thread.
 * corners reload: loads the OpenCL loader, unloads it, and loads it again.
 * corners header FOLDER: builds an OpenCL program that includes a file of FOLDER by relative path, and changes the
 *   directory before the launch. Then builds another OpenCL program, and changes its included file before the launch.
 * corners closed: closes all sockets before it launches anything.
 * Prints the kernels' results and exits with 42; 77: no device.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALLS(CALL) \
	CALL(clGetPlatformIDs) CALL(clGetDeviceIDs) CALL(clCreateContext) CALL(clReleaseContext) \
	CALL(clCreateCommandQueue) CALL(clReleaseCommandQueue) CALL(clCreateProgramWithSource) CALL(clBuildProgram) \
	CALL(clReleaseProgram) CALL(clCreateKernel) CALL(clReleaseKernel) CALL(clSetKernelArg) CALL(clCreateBuffer) \
	CALL(clReleaseMemObject) CALL(clEnqueueNDRangeKernel) CALL(clEnqueueReadBuffer) CALL(clFinish) \
	CALL(clCreateUserEvent) CALL(clSetUserEventStatus) CALL(clSetEventCallback) CALL(clEnqueueMarkerWithWaitList) \
	CALL(clFlush)

static struct {
#define CALL(name) __typeof__(name) *name;
	CALLS(CALL)
#undef CALL
} cl;
static void *loader;
static cl_context context;
static cl_command_queue queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int called;

static void open_device(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int err;

	loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
#define CALL(name) cl.name = (__typeof__(name) *)dlsym(loader, #name);
	CALLS(CALL)
#undef CALL
	if (cl.clGetPlatformIDs(1, &platform, NULL) || cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		exit(77);
	context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	queue = cl.clCreateCommandQueue(context, device, 0, &err);
}

static void close_device(void)
{
	cl.clReleaseCommandQueue(queue);
	cl.clReleaseContext(context);
	dlclose(loader);
}

static const char *folder; /* folder of the header that the OpenCL program includes */
static enum { STAY, LEAVE, CHANGE } after_build;

static void write_header(int n)
{
	FILE *f = fopen("folder/step.h", "w");

	fprintf(f, "#define STEP %d\n", n);
	fclose(f);
}

static void begin_in_folder(int n)
{
	if (chdir(folder))
		exit(1);
	write_header(n);
}

static void close_sockets(void)
{
	struct stat st;

	for (int fd = 3; fd < 1024; fd++)
		if (!fstat(fd, &st) && S_ISSOCK(st.st_mode))
			close(fd);
}

static cl_program make_program(void)
{
	const char *text[] = { folder ? "#include \"step.h\"\n" : "#define STEP 2\n",
			       "__kernel void step_one(__global int *v) { v[get_global_id(0)] += 1; }\n"
			       "__kernel void step_two(__global int *v) { v[get_global_id(0)] += STEP; }\n" };
	cl_program program = cl.clCreateProgramWithSource(context, 2, text, NULL, NULL);

	cl.clBuildProgram(program, 0, NULL, folder ? "-I folder" : "", NULL, NULL);
	return program;
}

static cl_kernel make_kernel(cl_program program, const char *name, cl_mem data)
{
	cl_kernel kernel = cl.clCreateKernel(program, name, NULL);

	cl.clSetKernelArg(kernel, 0, sizeof(data), &data);
	return kernel;
}

static void launch(cl_kernel kernel)
{
	size_t n = 64;

	printf("launched: %d\n", cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 0, NULL, NULL));
}

struct later {
	cl_program program;
	const char *name;
	cl_mem data;
	cl_kernel kernel;
};

/* Creates the kernel in the callback, so that no thread has waited for the kernel's twin before. */
static void CL_CALLBACK in_callback(cl_event event, cl_int status, void *arg)
{
	struct later *later = arg;

	later->kernel = make_kernel(later->program, later->name, later->data);
	launch(later->kernel);
	cl.clFlush(queue);
	pthread_mutex_lock(&lock);
	called = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static cl_kernel launch_in_callback(cl_program program, const char *name, cl_mem data)
{
	struct later later = { program, name, data };
	cl_event gate = cl.clCreateUserEvent(context, NULL), event;

	cl.clEnqueueMarkerWithWaitList(queue, 1, &gate, &event);
	cl.clSetEventCallback(event, CL_COMPLETE, in_callback, &later);
	cl.clFlush(queue);
	cl.clSetUserEventStatus(gate, CL_COMPLETE);
	pthread_mutex_lock(&lock);
	while (!called)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return later.kernel;
}

static void run(const char *name, int callback)
{
	int v[64] = {0};
	cl_mem data = cl.clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(v), v, NULL);
	cl_program program = make_program();
	cl_kernel kernel;

	if (after_build == LEAVE && chdir("/"))
		exit(1);
	if (after_build == CHANGE)
		write_header(8);
	if (callback) {
		kernel = launch_in_callback(program, name, data);
	} else {
		kernel = make_kernel(program, name, data);
		launch(kernel);
	}
	cl.clReleaseProgram(program);
	cl.clEnqueueReadBuffer(queue, data, CL_TRUE, 0, sizeof(v), v, 0, NULL, NULL);
	printf("%d\n", v[63]);
	cl.clReleaseKernel(kernel);
	cl.clReleaseMemObject(data);
}

/*
 * Builds with a relative path and changes the directory before the launch. Changes an included file between two builds,
 * and after a build.
 */
static void run_in_folder(void)
{
	open_device();
	begin_in_folder(2);
	after_build = LEAVE;
	run("step_two", 0);
	begin_in_folder(3);
	after_build = STAY;
	run("step_two", 0);
	after_build = CHANGE;
	run("step_two", 0);
	close_device();
}

int main(int argc, char **argv)
{
	int callback = argc > 1 && !strcmp(argv[1], "callback");

	if (argc > 2) {
		folder = argv[2];
		run_in_folder();
		return 42;
	}
	open_device();
	if (argc > 1 && !strcmp(argv[1], "closed"))
		close_sockets();
	run("step_one", callback);
	if (!callback) {
		close_device();
		open_device();
	}
	run("step_two", 0);
	close_device();
	return 42;
}
