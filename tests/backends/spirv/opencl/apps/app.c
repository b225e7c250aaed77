/* SPDX-License-Identifier: Apache-2.0 */
#include "app.h"

#include <pthread.h>

cl_platform_id app_platform;
cl_device_id app_device;
cl_context app_context;
cl_command_queue app_queue;

static uint64_t digest = 0xcbf29ce484222325ull;
static uint32_t seed = 12345;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char name[128];
	uint64_t launches, items;
} kernels[APP_KERNELS];

void app_fail(const char *file, int line, const char *what, int err)
{
	fprintf(stderr, "%s:%d: %s: error %d\n", file, line, what, err);
	exit(1);
}

void app_lacks(const char *what)
{
	fprintf(stderr, "the device lacks %s\n", what);
	exit(77);
}

static int holds(cl_platform_id platform, cl_device_id device, const char *part)
{
	char name[512] = "", vendor[512] = "";

	CHECK(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL));
	CHECK(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(vendor), vendor, NULL));
	return !part || strstr(name, part) || strstr(vendor, part);
}

static void find_device(void)
{
	const char *part = getenv("GPUBPF_TEST_DEVICE");
	cl_platform_id platforms[16];
	cl_uint n = 0, nd;

	if (clGetPlatformIDs(16, platforms, &n) || !n)
		app_lacks("an OpenCL platform");
	for (cl_uint i = 0; i < n && i < 16; i++) {
		cl_device_id devices[16];

		if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 16, devices, &nd))
			continue;
		for (cl_uint k = 0; k < nd && k < 16; k++)
			if (holds(platforms[i], devices[k], part)) {
				app_platform = platforms[i];
				app_device = devices[k];
				return;
			}
	}
	app_lacks(part);
}

void app_open(void)
{
	cl_int err;

	find_device();
	app_context = clCreateContext(NULL, 1, &app_device, NULL, NULL, &err);
	CHECK(err);
	app_queue = clCreateCommandQueue(app_context, app_device, 0, &err);
	CHECK(err);
}

int app_close(void)
{
	CHECK(clFinish(app_queue));
	CHECK(clReleaseCommandQueue(app_queue));
	CHECK(clReleaseContext(app_context));
	printf("digest %016llx\n", (unsigned long long)digest);
	for (int i = 0; i < APP_KERNELS && kernels[i].name[0]; i++)
		printf("kernel %s launches %llu items %llu\n", kernels[i].name,
		       (unsigned long long)kernels[i].launches, (unsigned long long)kernels[i].items);
	return 0;
}

cl_program app_program(const char *source, const char *options)
{
	cl_int err;
	cl_program p = clCreateProgramWithSource(app_context, 1, &source, NULL, &err);

	CHECK(err);
	err = clBuildProgram(p, 1, &app_device, options, NULL, NULL);
	if (err) {
		char log[8192] = "";

		clGetProgramBuildInfo(p, app_device, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
		fprintf(stderr, "%s\n", log);
		CHECK(err);
	}
	return p;
}

const void *app_il(const char *path, size_t *size)
{
	static unsigned char module[1 << 20];
	FILE *f = path ? fopen(path, "rb") : NULL;
	char il[256] = "";

	clGetDeviceInfo(app_device, CL_DEVICE_IL_VERSION, sizeof(il), il, NULL);
	if (!strstr(il, "SPIR-V"))
		app_lacks("SPIR-V");
	if (!f)
		app_fail(__FILE__, __LINE__, "no module", 0);
	*size = fread(module, 1, sizeof(module), f);
	fclose(f);
	return module;
}

cl_kernel app_kernel(cl_program program, const char *name)
{
	cl_int err;
	cl_kernel k = clCreateKernel(program, name, &err);

	CHECK(err);
	return k;
}

cl_mem app_buffer(size_t size, const void *data)
{
	void *zeros = data ? NULL : calloc(1, size);
	cl_int err;
	cl_mem m = clCreateBuffer(app_context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size,
				  data ? (void *)data : zeros, &err);

	CHECK(err);
	free(zeros);
	return m;
}

void app_arg_mem(cl_kernel kernel, cl_uint index, cl_mem mem)
{
	CHECK(clSetKernelArg(kernel, index, sizeof(mem), &mem));
}

void app_arg_u32(cl_kernel kernel, cl_uint index, uint32_t value)
{
	CHECK(clSetKernelArg(kernel, index, sizeof(value), &value));
}

void app_arg_f32(cl_kernel kernel, cl_uint index, float value)
{
	CHECK(clSetKernelArg(kernel, index, sizeof(value), &value));
}

void app_count(cl_kernel kernel, cl_uint dim, const size_t *global)
{
	uint64_t items = 1;
	char name[128];
	int i = 0;

	CHECK(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL));
	for (cl_uint d = 0; d < dim; d++)
		items *= global[d];
	pthread_mutex_lock(&lock);
	while (kernels[i].name[0] && strcmp(kernels[i].name, name))
		i++;
	strcpy(kernels[i].name, name);
	kernels[i].launches++;
	kernels[i].items += items;
	pthread_mutex_unlock(&lock);
}

void app_launch(cl_kernel kernel, cl_uint dim, const size_t *offset, const size_t *global, const size_t *local)
{
	CHECK(clEnqueueNDRangeKernel(app_queue, kernel, dim, offset, global, local, 0, NULL, NULL));
	app_count(kernel, dim, global);
}

void app_launch1(cl_kernel kernel, size_t global, size_t local)
{
	app_launch(kernel, 1, NULL, &global, local ? &local : NULL);
}

void app_digest(const void *data, size_t size)
{
	const unsigned char *at = data;

	for (size_t i = 0; i < size; i++)
		digest = (digest ^ at[i]) * 0x100000001b3ull;
}

void app_digest_buffer(cl_mem mem, size_t size)
{
	void *data = malloc(size);

	CHECK(clEnqueueReadBuffer(app_queue, mem, CL_TRUE, 0, size, data, 0, NULL, NULL));
	app_digest(data, size);
	free(data);
}

uint32_t app_random(void)
{
	seed = seed * 1664525 + 1013904223; /* Numerical Recipes */
	return seed >> 8;
}
