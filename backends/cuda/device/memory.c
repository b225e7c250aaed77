/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the functions of a CUDA device for maps outside of the arena. Such a map lies in the session's memory,
 * pinned or pageable, or in managed memory.
 */
#include "memory.h"

#include <errno.h>

/*
 * GPUBPF_CAP_HOST_ATOMICS requires a link such as NVLink: over PCIe, a GPU's atomics are not coherent with the host's.
 * GPUBPF_CAP_SVM_SYSTEM requires a device that uses the host's page tables. On other devices the driver migrates the
 * pages, and it cannot migrate pages that other processes map.
 */
static const struct {
	int attribute;
	uint64_t bits;
} caps[] = {
	{ CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, GPUBPF_CAP_HOST_PINNED | GPUBPF_CAP_HOST_REGISTERED },
	{ CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, GPUBPF_CAP_SVM_FINE | GPUBPF_CAP_SVM_SYSTEM },
	{ CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, GPUBPF_CAP_HOST_ATOMICS },
};

static bool has_attribute(const struct gpubpf_device *device, int attribute)
{
	int value = 0;

	return !device->cu->device_attribute(&value, attribute, device->device) && value;
}

uint64_t cuda_memory_caps(const struct gpubpf_device *device)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		bits |= has_attribute(device, caps[i].attribute) ? caps[i].bits : 0;
	/* with CONCURRENT_MANAGED_ACCESS the host can access managed memory while GPU kernels run */
	if (has_attribute(device, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY) &&
	    has_attribute(device, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS))
		bits |= GPUBPF_CAP_MANAGED;
	return bits;
}

static CUresult get_pinned(struct gpubpf_device *device, void *host, struct gpubpf_device_memory *m)
{
	CUdeviceptr address = 0;
	CUresult error = device->cu->host_register(host, m->size, CU_MEMHOSTREGISTER_DEVICEMAP);

	if (error)
		return error;
	error = device->cu->host_address(&address, host, 0);
	if (error)
		device->cu->host_unregister(host);
	m->host = host;
	m->address = address;
	return error;
}

static CUresult get_managed(struct gpubpf_device *device, struct gpubpf_device_memory *m)
{
	CUdeviceptr address = 0;
	CUresult error = device->cu->mem_managed(&address, m->size, CU_MEM_ATTACH_GLOBAL);

	m->host = (void *)(uintptr_t)address;
	m->address = address;
	return error;
}

int cuda_memory_get(struct gpubpf_device *device, enum gpubpf_placement where, void *host, size_t size,
		    struct gpubpf_device_memory *memory, struct gpubpf_reason *why)
{
	struct gpubpf_device_memory m = { .where = where, .size = size, .host = host, .address = (uintptr_t)host };
	CUresult error = 0;
	int mode;

	if (cuda_device_enter_or_explain(device, &mode, why) < 0)
		return -EIO;
	if (where == GPUBPF_PLACE_PINNED)
		error = get_pinned(device, host, &m);
	else if (where == GPUBPF_PLACE_MANAGED)
		error = get_managed(device, &m);
	cuda_leave(device->cu, &mode);
	if (error)
		return cuda_fail(device->cu, why,
				 where == GPUBPF_PLACE_PINNED ? "cannot pin host memory for maps" :
								"cannot allocate managed memory for maps",
				 error);
	*memory = m;
	return 0;
}

void cuda_memory_put(struct gpubpf_device *device, const struct gpubpf_device_memory *m)
{
	int mode;

	if (cuda_device_enter(device, &mode) < 0)
		return;
	if (m->where == GPUBPF_PLACE_PINNED)
		device->cu->host_unregister(m->host);
	else if (m->where == GPUBPF_PLACE_MANAGED)
		device->cu->mem_free(m->address);
	cuda_leave(device->cu, &mode);
}
