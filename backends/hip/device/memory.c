/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

/* Allocates fine-grained memory (HIP programming guide, coherence), so that the host and GPU kernels see each other's
 * writes. The session's own memory cannot be used: it is a mapped file, and hipHostRegister() may succeed although the
 * device cannot access such memory. */
static hipError_t allocate_pinned(const struct hip_driver *hip, struct gpubpf_device_memory *m)
{
	void *address = NULL;
	hipError_t error = hip->host_alloc(&m->host, m->size, HIP_HOST_MALLOC_MAPPED | HIP_HOST_MALLOC_COHERENT);

	if (!error)
		error = hip->host_address(&address, m->host, 0);
	if (error && m->host)
		hip->host_free(m->host);
	m->address = (uintptr_t)address;
	return error;
}

static hipError_t allocate_managed(const struct hip_driver *hip, struct gpubpf_device_memory *m)
{
	hipError_t error = hip->mem_managed(&m->host, m->size, HIP_MEM_ATTACH_GLOBAL);

	m->address = (uintptr_t)m->host;
	return error;
}

static int device_attribute(const struct hip_driver *hip, int which, int device)
{
	int value = 0;

	return hip->attribute && !hip->attribute(&value, which, device) ? value : 0;
}

uint64_t hip_memory_caps(const struct hip_driver *hip, int device)
{
	uint64_t bits = hip->host_address ? GPUBPF_CAP_HOST_PINNED : 0;

	if (hip->mem_managed && device_attribute(hip, HIP_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, device))
		bits |= GPUBPF_CAP_MANAGED;
	if (device_attribute(hip, HIP_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, device))
		bits |= GPUBPF_CAP_HOST_ATOMICS;
	return bits;
}

hipError_t hip_memory_get(const struct hip_driver *hip, struct gpubpf_device_memory *m)
{
	return m->where == GPUBPF_PLACE_MANAGED ? allocate_managed(hip, m) : allocate_pinned(hip, m);
}

void hip_memory_put(const struct hip_driver *hip, const struct gpubpf_device_memory *m)
{
	if (m->where == GPUBPF_PLACE_MANAGED)
		hip->mem_free(m->host);
	else
		hip->host_free(m->host);
}
