/* SPDX-License-Identifier: Apache-2.0 */
/* Fills in the capabilities of a Level Zero device. */
#include <stdio.h>

#include "device_state.h"

#define MAX_MEMORIES 8

/*
 * Choose the memory of the arena. Integrated devices use host memory: kernels access it without extra cost, and no
 * copies are needed. On a graphics card, the arena lies in the card's own memory. Atomic adds across the bus take
 * thousands of times as long, and some are lost if the host adds too (SUPPORT.md).
 */
static void choose_arena(struct gpubpf_device *d, bool shares)
{
	ze_device_memory_access_properties_t p = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES };
	const uint32_t all = ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC,
		       live = all | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC;

	if (d->api.DeviceGetMemoryAccessProperties(d->id, &p) || !shares)
		return;
	if ((p.sharedSystemAllocCapabilities & live) == live) {
		d->arena_kind = ARENA_SYSTEM;
		d->caps.bits |= GPUBPF_CAP_SHARED_ARENA;
	} else if ((p.hostAllocCapabilities & all) == all) {
		d->arena_kind = ARENA_HOST;
	}
}

/*
 * Set the caps for map memory outside of the arena. They depend on the accesses that host and GPU kernels may make
 * concurrently.
 */
static void fill_memory(struct gpubpf_device *d)
{
	const uint32_t all = ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC,
		       both = all | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT,
		       whole = both | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC;
	ze_device_memory_access_properties_t p = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES };

	if (d->api.DeviceGetMemoryAccessProperties(d->id, &p))
		return;
	if ((p.hostAllocCapabilities & all) == all)
		d->caps.bits |= GPUBPF_CAP_HOST_PINNED | GPUBPF_CAP_SVM_FINE;
	if ((p.sharedSystemAllocCapabilities & both) == both)
		d->caps.bits |= GPUBPF_CAP_SVM_FINE | GPUBPF_CAP_SVM_SYSTEM;
	if ((p.sharedSingleDeviceAllocCapabilities & both) == both)
		d->caps.bits |= GPUBPF_CAP_MANAGED;
	if ((p.hostAllocCapabilities & whole) == whole)
		d->caps.bits |= GPUBPF_CAP_HOST_ATOMICS;
}

static uint64_t memory_of(const struct gpubpf_device *d)
{
	ze_device_memory_properties_t memories[MAX_MEMORIES];
	uint32_t n = 0;
	uint64_t size = 0;

	for (uint32_t i = 0; i < MAX_MEMORIES; i++)
		memories[i] = (ze_device_memory_properties_t){ .stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES };
	if (d->api.DeviceGetMemoryProperties(d->id, &n, NULL) || !clamp(&n, MAX_MEMORIES) ||
	    d->api.DeviceGetMemoryProperties(d->id, &n, memories))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		size += memories[i].totalSize;
	return size;
}

void gpubpf_ze_fill_caps(struct gpubpf_device *d)
{
	ze_device_compute_properties_t compute = { .stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES };
	ze_device_module_properties_t module = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES };
	ze_device_properties_t p = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
	struct gpubpf_device_caps *caps = &d->caps;
	uint32_t spirv;

	d->api.DeviceGetProperties(d->id, &p);
	d->api.DeviceGetComputeProperties(d->id, &compute);
	d->api.DeviceGetModuleProperties(d->id, &module);
	spirv = module.spirvVersionSupported;
	snprintf(caps->backend, sizeof(caps->backend), "level_zero");
	snprintf(caps->name, sizeof(caps->name), "%.95s", p.name);
	snprintf(caps->driver, sizeof(caps->driver), "Level Zero, device %04x:%04x", p.vendorId, p.deviceId);
	caps->bits = GPUBPF_CAP_ACCEPTS_SPIRV | GPUBPF_CAP_LINK | GPUBPF_CAP_LINKS_PARTS | GPUBPF_CAP_EXIT_THREAD;
	if (module.flags & ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS)
		caps->bits |= GPUBPF_CAP_ATOMIC64;
	if (d->api.KernelSetGlobalOffsetExp)
		caps->bits |= GPUBPF_CAP_OFFSET;
#ifdef __x86_64__
	if (p.type == ZE_DEVICE_TYPE_CPU)
		caps->bits |= GPUBPF_CAP_X86;
#endif
	caps->compute_units = p.numSlices * p.numSubslicesPerSlice;
	caps->compute_units += !caps->compute_units;
	caps->warp_size = 1;
	caps->spirv_version = ZE_MAJOR_VERSION(spirv) << 16 | ZE_MINOR_VERSION(spirv) << 8;
	caps->address_bits = 64;
	caps->max_threads_per_block = compute.maxTotalGroupSize;
	caps->max_blocks[0] = compute.maxGroupCountX;
	caps->max_blocks[1] = compute.maxGroupCountY;
	caps->max_blocks[2] = compute.maxGroupCountZ;
	for (uint32_t i = 0; i < compute.numSubGroupSizes && i < ZE_SUBGROUPSIZE_COUNT; i++)
		caps->sub_groups |= compute.subGroupSizes[i];
	caps->memory = memory_of(d);
	caps->max_alloc = p.maxMemAllocSize;
	choose_arena(d, p.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED || p.type == ZE_DEVICE_TYPE_CPU);
	fill_memory(d);
	/*
	 * A shared arena belongs to all devices on host memory. Its table of allocations would also list the memory of
	 * CPU devices, so a device with a shared arena has no table.
	 */
	if (!(caps->bits & GPUBPF_CAP_SHARED_ARENA))
		caps->bits |= GPUBPF_CAP_ALLOCATIONS;
}
