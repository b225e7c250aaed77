/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, contexts and events of the fake driver, and the function tables through which the loader calls it. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

static struct _ze_device_handle_t devices[DEVICES] = { { 0, -1 }, { 1, -1 } }, parts[PARTS] = { { 0, 0 }, { 0, 1 } };
static int the_driver;

static bool is_memory_kind(const char *what)
{
	const char *memory = getenv("GPUBPF_FAKE_ZE");

	return !strcmp(memory ? memory : "host", what);
}

FILE *fake_log(void)
{
	const char *path = getenv("GPUBPF_FAKE_ZE_LOG");

	return path ? fopen(path, "a") : NULL;
}

static ze_result_t ZE_APICALL init(ze_init_flags_t flags)
{
	return fake_cl_init() ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNINITIALIZED;
}

static ze_result_t ZE_APICALL driver_get(uint32_t *n, ze_driver_handle_t *drivers)
{
	if (drivers && *n)
		drivers[0] = (ze_driver_handle_t)&the_driver;
	*n = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL driver_version(ze_driver_handle_t driver, ze_api_version_t *version)
{
	*version = ZE_API_VERSION_CURRENT;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL driver_properties(ze_driver_handle_t driver, ze_driver_properties_t *p)
{
	p->driverVersion = 1;
	if (getenv("GPUBPF_FAKE_ZE_HANDLES"))
		fake_direct_handles(p->pNext);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL driver_extensions(ze_driver_handle_t driver, uint32_t *n, ze_driver_extension_properties_t *p)
{
	*n = 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL driver_function(ze_driver_handle_t driver, const char *name, void **function)
{
	return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

/* ---- devices ---- */

static ze_result_t return_devices(struct _ze_device_handle_t *from, uint32_t have, uint32_t *n, ze_device_handle_t *to)
{
	for (uint32_t i = 0; to && i < *n && i < have; i++)
		to[i] = &from[i];
	if (!to || *n > have || !*n)
		*n = have;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL device_get(ze_driver_handle_t driver, uint32_t *n, ze_device_handle_t *to)
{
	return return_devices(devices, DEVICES, n, to);
}

static ze_result_t ZE_APICALL device_parts(ze_device_handle_t d, uint32_t *n, ze_device_handle_t *to)
{
	return return_devices(parts, d == &devices[0] ? PARTS : 0, n, to);
}

static ze_result_t ZE_APICALL device_properties(ze_device_handle_t d, ze_device_properties_t *p)
{
	p->type = ZE_DEVICE_TYPE_GPU;
	p->vendorId = 0x8086;
	p->deviceId = 0xfa4e;
	p->flags = (is_memory_kind("device") ? 0 : ZE_DEVICE_PROPERTY_FLAG_INTEGRATED) |
		   (d->part >= 0 ? ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE : 0);
	p->subdeviceId = d->part >= 0 ? d->part : 0;
	p->maxMemAllocSize = 4ull << 30;
	p->numSlices = 1;
	p->numSubslicesPerSlice = 4;
	p->numThreadsPerEU = 7;
	p->timerResolution = 83;
	snprintf(p->name, sizeof(p->name), "a CPU as a Level Zero device %d", d->number);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL device_compute(ze_device_handle_t d, ze_device_compute_properties_t *p)
{
	p->maxTotalGroupSize = p->maxGroupSizeX = p->maxGroupSizeY = p->maxGroupSizeZ = 1024;
	p->maxGroupCountX = p->maxGroupCountY = p->maxGroupCountZ = 1u << 31;
	p->maxSharedLocalMemory = 32768;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL device_modules(ze_device_handle_t d, ze_device_module_properties_t *p)
{
	p->spirvVersionSupported = ZE_MAKE_VERSION(1, 4);
	p->flags = ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL device_memory(ze_device_handle_t d, uint32_t *n, ze_device_memory_properties_t *p)
{
	if (p && *n) {
		p->totalSize = getenv("GPUBPF_FAKE_ZE_MEMORY") ? strtoull(getenv("GPUBPF_FAKE_ZE_MEMORY"), NULL, 0) : 8ull << 30;
		p->maxClockRate = p->maxBusWidth = 64;
	}
	*n = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL device_access(ze_device_handle_t d, ze_device_memory_access_properties_t *p)
{
	p->hostAllocCapabilities = p->deviceAllocCapabilities = p->sharedSingleDeviceAllocCapabilities = 15;
	p->sharedSystemAllocCapabilities = is_memory_kind("shared") ? 15 : 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL device_groups(ze_device_handle_t d, uint32_t *n, ze_command_queue_group_properties_t *p)
{
	if (p && *n) {
		p->flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY |
			   ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS;
		p->numQueues = 1;
	}
	*n = 1;
	return ZE_RESULT_SUCCESS;
}

/* ---- contexts ---- */

static ze_result_t ZE_APICALL context_create(ze_driver_handle_t driver, const ze_context_desc_t *desc,
					     ze_context_handle_t *context)
{
	*context = calloc(1, sizeof(**context));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL context_create_ex(ze_driver_handle_t driver, const ze_context_desc_t *desc, uint32_t n,
						ze_device_handle_t *of, ze_context_handle_t *context)
{
	return context_create(driver, desc, context);
}

static ze_result_t ZE_APICALL context_destroy(ze_context_handle_t context)
{
	free(context);
	return ZE_RESULT_SUCCESS;
}

/* ---- events and fences ---- */

static ze_result_t ZE_APICALL pool_create(ze_context_handle_t context, const ze_event_pool_desc_t *desc, uint32_t n,
					  ze_device_handle_t *of, ze_event_pool_handle_t *pool)
{
	*pool = calloc(1, sizeof(**pool));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL pool_destroy(ze_event_pool_handle_t pool)
{
	free(pool);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL event_create(ze_event_pool_handle_t pool, const ze_event_desc_t *desc, ze_event_handle_t *event)
{
	*event = calloc(1, sizeof(**event));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL event_destroy(ze_event_handle_t event)
{
	free(event);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL event_signal(ze_event_handle_t event)
{
	event->signalled = true;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL event_reset(ze_event_handle_t event)
{
	event->signalled = false;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL event_query(ze_event_handle_t event)
{
	return event->signalled ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

static ze_result_t ZE_APICALL event_wait(ze_event_handle_t event, uint64_t timeout)
{
	return event_query(event);
}

static ze_result_t ZE_APICALL fence_create(ze_command_queue_handle_t queue, const ze_fence_desc_t *desc,
					   ze_fence_handle_t *fence)
{
	*fence = calloc(1, sizeof(**fence));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL fence_destroy(ze_fence_handle_t fence)
{
	free(fence);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL fence_query(ze_fence_handle_t fence)
{
	return fence->signalled ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

static ze_result_t ZE_APICALL fence_wait(ze_fence_handle_t fence, uint64_t timeout)
{
	return fence_query(fence);
}

static ze_result_t ZE_APICALL fence_reset(ze_fence_handle_t fence)
{
	fence->signalled = false;
	return ZE_RESULT_SUCCESS;
}

/* ---- tables ---- */

#define TABLE(Name, type, ...) \
	__attribute__((visibility("default"))) ze_result_t ZE_APICALL zeGet##Name##ProcAddrTable(ze_api_version_t version, \
												 type *t) \
	{ \
		*t = (type){ __VA_ARGS__ }; \
		return ZE_RESULT_SUCCESS; \
	}
#define TABLE_BY(Name, type, ...) \
	__attribute__((visibility("default"))) ze_result_t ZE_APICALL zeGet##Name##ProcAddrTable(ze_api_version_t version, \
												 type *t) \
	{ \
		__VA_ARGS__; \
		return ZE_RESULT_SUCCESS; \
	}

static ze_result_t ZE_APICALL init_drivers(uint32_t *n, ze_driver_handle_t *drivers, const void *desc)
{
	return fake_cl_init() ? driver_get(n, drivers) : ZE_RESULT_ERROR_UNINITIALIZED;
}

__attribute__((visibility("default"))) ze_result_t ZE_APICALL zeGetGlobalProcAddrTable(ze_api_version_t version,
										       ze_global_dditable_t *t)
{
	t->pfnInit = init;
	if (version >= ZE_MAKE_VERSION(1, 10))
		((void **)t)[1] = init_drivers;
	return ZE_RESULT_SUCCESS;
}

TABLE(Driver, ze_driver_dditable_t, .pfnGet = driver_get, .pfnGetApiVersion = driver_version,
      .pfnGetProperties = driver_properties, .pfnGetExtensionProperties = driver_extensions,
      .pfnGetExtensionFunctionAddress = driver_function)
TABLE(Device, ze_device_dditable_t, .pfnGet = device_get, .pfnGetSubDevices = device_parts,
      .pfnGetProperties = device_properties, .pfnGetComputeProperties = device_compute,
      .pfnGetModuleProperties = device_modules, .pfnGetMemoryProperties = device_memory,
      .pfnGetMemoryAccessProperties = device_access, .pfnGetCommandQueueGroupProperties = device_groups)
TABLE(Context, ze_context_dditable_t, .pfnCreate = context_create, .pfnDestroy = context_destroy,
      .pfnCreateEx = context_create_ex)
TABLE_BY(Mem, ze_mem_dditable_t, fake_memory_table(t))
TABLE(EventPool, ze_event_pool_dditable_t, .pfnCreate = pool_create, .pfnDestroy = pool_destroy)
TABLE(Event, ze_event_dditable_t, .pfnCreate = event_create, .pfnDestroy = event_destroy, .pfnHostSignal = event_signal,
      .pfnHostSynchronize = event_wait, .pfnQueryStatus = event_query, .pfnHostReset = event_reset)
TABLE(Fence, ze_fence_dditable_t, .pfnCreate = fence_create, .pfnDestroy = fence_destroy,
      .pfnHostSynchronize = fence_wait, .pfnQueryStatus = fence_query, .pfnReset = fence_reset)
TABLE(KernelExp, ze_kernel_exp_dditable_t, .pfnSetGlobalOffsetExp = fake_offset)
TABLE_BY(Module, ze_module_dditable_t, fake_module_table(t))
TABLE_BY(Kernel, ze_kernel_dditable_t, fake_kernel_table(t))
TABLE_BY(CommandList, ze_command_list_dditable_t, fake_list_table(t), fake_newer_lists(version, (void **)t))
TABLE_BY(CommandQueue, ze_command_queue_dditable_t, fake_queue_table(t))
TABLE(DeviceExp, ze_device_exp_dditable_t, NULL)
TABLE(Image, ze_image_dditable_t, NULL)
TABLE(ImageExp, ze_image_exp_dditable_t, NULL)
TABLE(EventExp, ze_event_exp_dditable_t, NULL)
TABLE(ModuleBuildLog, ze_module_build_log_dditable_t, NULL)
TABLE(Sampler, ze_sampler_dditable_t, NULL)
TABLE(PhysicalMem, ze_physical_mem_dditable_t, NULL)
TABLE(VirtualMem, ze_virtual_mem_dditable_t, NULL)
TABLE(FabricVertexExp, ze_fabric_vertex_exp_dditable_t, NULL)
TABLE(FabricEdgeExp, ze_fabric_edge_exp_dditable_t, NULL)
