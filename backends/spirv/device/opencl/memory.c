/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates memory of an OpenCL device for maps outside of the arena. Twins access this memory by address. It is either
 * SVM or a pinned host buffer. SVM is passed to the runtime at each launch, as execution info of the kernel. A pinned
 * buffer is used on devices where the address of a buffer does not change. On devices whose arena is host memory, all
 * maps lie in host memory.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "opencl.h"

static const struct {
	cl_device_svm_capabilities has;
	uint64_t bits;
} svm_caps[] = {
	{ CL_DEVICE_SVM_FINE_GRAIN_BUFFER, GPUBPF_CAP_SVM_FINE },
	{ CL_DEVICE_SVM_FINE_GRAIN_SYSTEM, GPUBPF_CAP_SVM_FINE | GPUBPF_CAP_SVM_SYSTEM },
	{ CL_DEVICE_SVM_ATOMICS, GPUBPF_CAP_HOST_ATOMICS },
};

/* Map a buffer until it is released; the mapping serves as pinned host memory. */
static void *map_buffer(struct gpubpf_device *d, cl_mem memory, size_t size)
{
	cl_int err;
	void *at = d->api.clEnqueueMapBuffer(d->queue, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, size, 0, NULL,
					     NULL, &err);

	return err ? NULL : at;
}

/* Returns true if a kernel's write to a pinned host buffer appears in the host's mapping. */
static bool test_pinned(struct gpubpf_device *d)
{
	size_t one = 1;
	cl_int err;
	cl_mem memory = d->api.clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, sizeof(cl_ulong),
					      NULL, &err);
	volatile cl_ulong *at = err ? NULL : map_buffer(d, memory, sizeof(cl_ulong));
	bool seen = false;

	if (at && !d->api.clSetKernelArg(d->address_kernel, 0, sizeof(memory), &memory) &&
	    !d->api.clSetKernelArg(d->address_kernel, 1, sizeof(memory), &memory)) {
		*at = 0;
		seen = !d->api.clEnqueueNDRangeKernel(d->queue, d->address_kernel, 1, NULL, &one, &one, 0, NULL, NULL) &&
		       !d->api.clFinish(d->queue) && *at;
		d->api.clEnqueueUnmapMemObject(d->queue, memory, (void *)at, 0, NULL, NULL);
	}
	if (!err)
		d->api.clReleaseMemObject(memory);
	return seen;
}

void ocl_memory_caps(struct gpubpf_device *d)
{
	cl_device_svm_capabilities svm = 0;

	if (d->api.clSVMAlloc && d->api.clSVMFree && d->api.clSetKernelExecInfo)
		d->api.clGetDeviceInfo(d->id, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL);
	for (size_t i = 0; i < sizeof(svm_caps) / sizeof(svm_caps[0]); i++)
		d->caps.bits |= svm & svm_caps[i].has ? svm_caps[i].bits : 0;
	if (d->caps.bits & GPUBPF_CAP_SHARED_ARENA)
		d->caps.bits |= GPUBPF_CAP_HOST_PINNED | GPUBPF_CAP_HOST_REGISTERED | GPUBPF_CAP_HOST_ATOMICS;
}

void ocl_memory_test(struct gpubpf_device *d)
{
	if (!(d->caps.bits & GPUBPF_CAP_SHARED_ARENA) && d->address_kernel && test_pinned(d))
		d->caps.bits |= GPUBPF_CAP_HOST_PINNED;
}

/*
 * Allocate SVM for a map. Each launch passes the list d->svm[] to the runtime, because a kernel may access only listed
 * SVM. If the list is full, the allocation fails.
 */
static int get_svm(struct gpubpf_device *d, void *host, struct gpubpf_device_memory *m, struct gpubpf_reason *why)
{
	cl_svm_mem_flags flags = CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER;
	bool is_system = d->caps.bits & GPUBPF_CAP_SVM_SYSTEM;

	if (!is_system && d->nsvm == OCL_MAX_SVM) {
		snprintf(why->text, sizeof(why->text), "memory for maps: more than %d maps are placed in SVM", OCL_MAX_SVM);
		return -ENOSPC;
	}
	if (d->caps.bits & GPUBPF_CAP_HOST_ATOMICS)
		flags |= CL_MEM_SVM_ATOMICS;
	m->host = is_system ? host : d->api.clSVMAlloc(d->context, flags, m->size, 0);
	m->handle = is_system ? NULL : m->host;
	m->address = (uintptr_t)m->host;
	if (m->handle)
		d->svm[d->nsvm++] = m->handle;
	if (m->host)
		return 0;
	snprintf(why->text, sizeof(why->text), "memory for maps: cannot allocate %zu bytes of fine-grained SVM", m->size);
	return -ENOMEM;
}

static int get_pinned(struct gpubpf_device *d, struct gpubpf_device_memory *m, struct gpubpf_reason *why)
{
	cl_int err;

	m->handle = d->api.clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, m->size, NULL, &err);
	if (err)
		return ocl_error(why, "memory for maps: allocating a host buffer", err);
	m->host = map_buffer(d, m->handle, m->size);
	if (m->host && !ocl_buffer_address(d, m->handle, &m->address))
		return 0;
	ocl_memory_put(d, m);
	snprintf(why->text, sizeof(why->text), "memory for maps: cannot determine the address of a host buffer");
	return -EIO;
}

int ocl_memory_get(struct gpubpf_device *d, enum gpubpf_placement where, void *host, size_t size,
		   struct gpubpf_device_memory *memory, struct gpubpf_reason *why)
{
	struct gpubpf_device_memory m = { .where = where, .size = size };
	int err = where == GPUBPF_PLACE_SVM ? get_svm(d, host, &m, why) : get_pinned(d, &m, why);

	if (!err)
		*memory = m;
	return err;
}

void ocl_memory_put(struct gpubpf_device *d, const struct gpubpf_device_memory *m)
{
	for (uint32_t i = 0; m->where == GPUBPF_PLACE_SVM && i < d->nsvm; i++)
		if (d->svm[i] == m->handle)
			d->svm[i--] = d->svm[--d->nsvm];
	if (m->where == GPUBPF_PLACE_SVM && m->handle)
		d->api.clSVMFree(d->context, m->handle);
	if (m->where != GPUBPF_PLACE_PINNED)
		return;
	if (m->host)
		d->api.clEnqueueUnmapMemObject(d->queue, m->handle, m->host, 0, NULL, NULL);
	d->api.clFinish(d->queue);
	d->api.clReleaseMemObject(m->handle);
}

cl_int ocl_set_svm_pointers(struct gpubpf_device *d, cl_kernel kernel)
{
	return d->nsvm ? d->api.clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, d->nsvm * sizeof(*d->svm),
						    d->svm) :
			 0;
}
