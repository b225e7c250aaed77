/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL layer that only counts the work-items of every enqueued kernel. At exit it writes lines
 * `kernel<TAB>launches<TAB>work-items` to the file that $NDCOUNT names. For each program made from source it
 * immediately writes a line to the file that $NDSOURCES names, because a process may end without exit handlers. The
 * layer shares no code with gpubpf, so tests can compare the counts of probes with its numbers.
 */
#include <CL/cl_layer.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KERNELS 1024

static const cl_icd_dispatch *next;
static cl_icd_dispatch table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char name[256];
	unsigned long long launches, items;
} kernels[MAX_KERNELS];
static unsigned nkernels;

static void count(cl_kernel kernel, unsigned long long items)
{
	char name[256] = "";
	unsigned i;

	if (next->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL))
		return;
	pthread_mutex_lock(&lock);
	for (i = 0; i < nkernels && strcmp(kernels[i].name, name); i++)
		;
	if (i < MAX_KERNELS) {
		if (i == nkernels)
			strcpy(kernels[nkernels++].name, name);
		kernels[i].launches++;
		kernels[i].items += items;
	}
	pthread_mutex_unlock(&lock);
}

static cl_int CL_API_CALL ndrange(cl_command_queue queue, cl_kernel kernel, cl_uint dim, const size_t *offset,
				  const size_t *global, const size_t *local, cl_uint nwait, const cl_event *wait,
				  cl_event *event)
{
	cl_int err = next->clEnqueueNDRangeKernel(queue, kernel, dim, offset, global, local, nwait, wait, event);
	unsigned long long items = 1;

	for (cl_uint i = 0; !err && i < dim; i++)
		items *= global[i];
	if (!err)
		count(kernel, items);
	return err;
}

static cl_int CL_API_CALL task(cl_command_queue queue, cl_kernel kernel, cl_uint nwait, const cl_event *wait,
			       cl_event *event)
{
	cl_int err = next->clEnqueueTask(queue, kernel, nwait, wait, event);

	if (!err)
		count(kernel, 1);
	return err;
}

static cl_program CL_API_CALL from_source(cl_context context, cl_uint n, const char **texts, const size_t *sizes, cl_int *err)
{
	const char *path = getenv("NDSOURCES");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (file) {
		fputs("source\n", file);
		fclose(file);
	}
	return next->clCreateProgramWithSource(context, n, texts, sizes, err);
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("NDCOUNT");
	FILE *file = path && nkernels ? fopen(path, "a") : NULL;

	for (unsigned i = 0; file && i < nkernels; i++)
		fprintf(file, "%s\t%llu\t%llu\n", kernels[i].name, kernels[i].launches, kernels[i].items);
	if (file)
		fclose(file);
}

__attribute__((visibility("default"))) cl_int CL_API_CALL
clGetLayerInfo(cl_layer_info what, size_t size, void *value, size_t *size_ret)
{
	static const char name[] = "ndcount";
	cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *from = what == CL_LAYER_API_VERSION ? (const void *)&version : name;
	size_t n = what == CL_LAYER_API_VERSION ? sizeof(version) : sizeof(name);

	if (what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME)
		return CL_INVALID_VALUE;
	if (value && size < n)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, n);
	if (size_ret)
		*size_ret = n;
	return CL_SUCCESS;
}

__attribute__((visibility("default"))) cl_int CL_API_CALL
clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *n_ret, const cl_icd_dispatch **layer_ret)
{
	if (!target || !n_ret || !layer_ret || n < sizeof(table) / sizeof(table.clGetPlatformIDs))
		return CL_INVALID_VALUE;
	next = target;
	table = *target;
	table.clEnqueueNDRangeKernel = ndrange;
	table.clEnqueueTask = task;
	table.clCreateProgramWithSource = from_source;
	*n_ret = sizeof(table) / sizeof(table.clGetPlatformIDs);
	*layer_ret = &table;
	return CL_SUCCESS;
}

/* Newer OpenCL loaders call this function, which the headers here may not declare. */
cl_int CL_API_CALL clInitLayerWithProperties(cl_uint n, const cl_icd_dispatch *target, cl_uint *n_ret,
					     const cl_icd_dispatch **layer_ret, const void *properties);
__attribute__((visibility("default"))) cl_int CL_API_CALL
clInitLayerWithProperties(cl_uint n, const cl_icd_dispatch *target, cl_uint *n_ret, const cl_icd_dispatch **layer_ret,
			  const void *properties)
{
	return clInitLayer(n, target, n_ret, layer_ret);
}
