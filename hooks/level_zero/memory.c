/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application's memory, for helpers that look up allocations. All devices of a context can access its host memory.
 * The agent cannot determine which devices can access device memory and shared memory. So it records such memory only
 * for the device for which it was allocated.
 */
#include "level_zero.h"

/* A call that allocates memory, and stores its address in *at. */
#define ALLOC(member, ...) \
	LZ_HOST_CALL_THEN(ALLOC, Mem, member, LZ_ARGUMENTS(__VA_ARGS__), host_call.pointer = result ? 0 : (uintptr_t)*at, \
			  .bytes = size)

static void add_allocation(const void *whose, void *at, size_t size, enum gpubpf_allocation_kind kind)
{
	gpubpf_allocation_add(whose, false,
			      &(struct gpubpf_allocation){ (uintptr_t)at, size, kind, gpubpf_allocation_number(),
							   gpubpf_allocation_stack() });
}

ze_result_t lz_MemAllocShared(struct lz_driver *d, ze_context_handle_t context,
			      const ze_device_mem_alloc_desc_t *device_desc, const ze_host_mem_alloc_desc_t *host_desc,
			      size_t size, size_t alignment, ze_device_handle_t device, void **at)
{
	ze_result_t err = ALLOC(AllocShared, context, device_desc, host_desc, size, alignment, device, at);

	if (!err && lz_active())
		add_allocation(device ? (void *)lz_context_device(d, context, device) : context, *at, size,
			       GPUBPF_ALLOCATION_MANAGED);
	return err;
}

ze_result_t lz_MemAllocDevice(struct lz_driver *d, ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc,
			      size_t size, size_t alignment, ze_device_handle_t device, void **at)
{
	ze_result_t err = ALLOC(AllocDevice, context, desc, size, alignment, device, at);

	if (!err && lz_active())
		add_allocation(lz_context_device(d, context, device), *at, size, GPUBPF_ALLOCATION_DEVICE);
	return err;
}

ze_result_t lz_MemAllocHost(struct lz_driver *d, ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc,
			    size_t size, size_t alignment, void **at)
{
	ze_result_t err = ALLOC(AllocHost, context, desc, size, alignment, at);

	if (!err && lz_active())
		add_allocation(context, *at, size, GPUBPF_ALLOCATION_HOST);
	return err;
}

ze_result_t lz_MemFree(struct lz_driver *d, ze_context_handle_t context, void *at)
{
	gpubpf_allocation_remove((uintptr_t)at);
	return LZ_HOST_CALL(FREE, Mem, Free, LZ_ARGUMENTS(context, at), .pointer = (uintptr_t)at);
}

/* The call's policy may defer the free, but the agent removes the allocation at once. */
ze_result_t lz_MemFreeExt(struct lz_driver *d, ze_context_handle_t context, const ze_memory_free_ext_desc_t *desc, void *at)
{
	gpubpf_allocation_remove((uintptr_t)at);
	return LZ_HOST_CALL(FREE, Mem, FreeExt, LZ_ARGUMENTS(context, desc, at), .pointer = (uintptr_t)at);
}
