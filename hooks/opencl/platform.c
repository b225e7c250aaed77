/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds the dispatch table of the next layer, the platforms with their extension functions, and the numbers of devices.
 */
#include "opencl.h"

#include <stdlib.h>

const cl_icd_dispatch *ocl;

const char *const ocl_pointer_names[OCL_POINTER_CALLS] = {
	[OCL_MEM_POINTER_INTEL] = "clSetKernelArgMemPointerINTEL",
	[OCL_DEVICE_POINTER_EXT] = "clSetKernelArgDevicePointerEXT",
	[OCL_SVM_POINTER_ARM] = "clSetKernelArgSVMPointerARM",
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ocl_platform *platforms; /* list, never freed, like the platforms */

static void *extension_function(cl_platform_id id, const char *name)
{
	if (!ocl->clGetExtensionFunctionAddressForPlatform)
		return NULL;
	return ocl->clGetExtensionFunctionAddressForPlatform(id, name);
}

struct ocl_platform *ocl_platform_get(cl_platform_id id)
{
	struct ocl_platform *p;

	pthread_mutex_lock(&lock);
	for (p = platforms; p && p->id != id;)
		p = p->next;
	pthread_mutex_unlock(&lock);
	if (p || !(p = calloc(1, sizeof(*p))))
		return p;
	p->id = id;
	*(void **)&p->suggested = extension_function(id, "clGetKernelSuggestedLocalWorkSizeKHR");
	for (int i = 0; i < OCL_POINTER_CALLS; i++)
		*(void **)&p->set_pointer[i] = extension_function(id, ocl_pointer_names[i]);
	*(void **)&p->usm.host = extension_function(id, "clHostMemAllocINTEL");
	*(void **)&p->usm.device = extension_function(id, "clDeviceMemAllocINTEL");
	*(void **)&p->usm.shared = extension_function(id, "clSharedMemAllocINTEL");
	*(void **)&p->usm.free = extension_function(id, "clMemFreeINTEL");
	*(void **)&p->usm.blocking_free = extension_function(id, "clMemBlockingFreeINTEL");
	*(void **)&p->create_il = extension_function(id, "clCreateProgramWithILKHR");
	*(void **)&p->buffer_create = extension_function(id, "clCreateCommandBufferKHR");
	*(void **)&p->buffer_remap = extension_function(id, "clRemapCommandBufferKHR");
	*(void **)&p->buffer_retain = extension_function(id, "clRetainCommandBufferKHR");
	*(void **)&p->buffer_release = extension_function(id, "clReleaseCommandBufferKHR");
	*(void **)&p->buffer_record = extension_function(id, "clCommandNDRangeKernelKHR");
	*(void **)&p->buffer_enqueue = extension_function(id, "clEnqueueCommandBufferKHR");
	pthread_mutex_lock(&lock);
	p->next = platforms; /* harmless if two threads add the same platform */
	platforms = p;
	pthread_mutex_unlock(&lock);
	return p;
}

struct ocl_platform *ocl_platform_of(cl_device_id device)
{
	cl_platform_id id;

	if (ocl->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(id), &id, NULL) != CL_SUCCESS)
		return NULL;
	return ocl_platform_get(id);
}

static cl_device_id root_device(cl_device_id device)
{
	cl_device_id parent;

	while (ocl->clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof(parent), &parent, NULL) == CL_SUCCESS && parent)
		device = parent;
	return device;
}

/* Returns the index of the device in its platform, or -1. *count receives the number of devices of the platform. */
static int index_in_platform(cl_platform_id id, cl_device_id device, cl_uint *count)
{
	cl_device_id devices[64];

	*count = 0;
	if (ocl->clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, 64, devices, count) != CL_SUCCESS)
		return -1;
	for (cl_uint i = 0; i < *count && i < 64; i++)
		if (devices[i] == device)
			return i;
	return -1;
}

uint32_t ocl_device_ordinal(cl_device_id device)
{
	cl_platform_id ids[32];
	cl_uint n = 0, count;
	uint32_t base = 0;

	device = root_device(device);
	if (ocl->clGetPlatformIDs(32, ids, &n) != CL_SUCCESS)
		return 0;
	for (cl_uint i = 0; i < n && i < 32; i++) {
		int at = index_in_platform(ids[i], device, &count);

		if (at >= 0)
			return base + at;
		base += count;
	}
	return base;
}
