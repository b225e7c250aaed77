/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE 64
#define FILL 0x5a /* byte that fills new memory, because the content of real memory is undefined */

static struct runtime only;
static _Thread_local int last;

static hsa_status_t on_agent(hsa_agent_t agent, void *arg)
{
	struct runtime *r = arg;
	hsa_device_type_t type;

	if (hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) || type != HSA_DEVICE_TYPE_GPU || r->agent.handle)
		return HSA_STATUS_SUCCESS;
	r->agent = agent;
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t on_region(hsa_region_t region, void *arg)
{
	struct runtime *r = arg;
	hsa_region_segment_t segment;
	uint32_t flags = 0;

	if (!hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &segment) && segment == HSA_REGION_SEGMENT_GLOBAL &&
	    !hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags) && flags & HSA_REGION_GLOBAL_FLAG_KERNARG)
		r->memory = region;
	return HSA_STATUS_SUCCESS;
}

static void read_arch(struct runtime *r)
{
	char name[64] = "";
	const char *last_part;
	hsa_isa_t isa;

	if (!hsa_agent_get_info(r->agent, HSA_AGENT_INFO_ISA, &isa))
		/* such as amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack- */
		hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name);
	last_part = strstr(name, "--");
	snprintf(r->arch, sizeof(r->arch), "%s", last_part ? last_part + 2 : name);
}

static void open_device(void)
{
	struct runtime *r = &only;

	if (hsa_init())
		r->error = NOT_INITIALISED;
	else if (hsa_iterate_agents(on_agent, r) || !r->agent.handle)
		r->error = NO_DEVICE;
	else if (hsa_agent_iterate_regions(r->agent, on_region, r) || !r->memory.handle)
		r->error = OUT_OF_MEMORY;
	else if (hsa_queue_create(r->agent, QUEUE, HSA_QUEUE_TYPE_SINGLE, NULL, NULL, UINT32_MAX, UINT32_MAX, &r->queue))
		r->error = NOT_INITIALISED;
	else
		read_arch(r);
}

const struct runtime *runtime(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, open_device);
	return &only;
}

int answer(int error)
{
	if (error)
		last = error;
	return error;
}

static uint32_t info(hsa_agent_info_t what)
{
	uint32_t value = 0;

	return hsa_agent_get_info(runtime()->agent, what, &value) ? 0 : value;
}

static int on_device(int device)
{
	return runtime()->error ? runtime()->error : device ? INVALID_DEVICE : 0;
}

uint32_t most_blocks(int axis)
{
	return axis && !strncmp(runtime()->arch, "gfx12", 5) ? 1u << 16 : INT32_MAX;
}

/* ---- devices and errors ---- */

CALL(hipInit, (unsigned flags)) { return answer(runtime()->error); }
CALL(hipRuntimeGetVersion, (int *version)) { *version = 0; return 0; }
CALL(hipGetDeviceCount, (int *count)) { *count = !runtime()->error; return answer(runtime()->error); }
CALL(hipGetDevice, (int *device)) { *device = 0; return answer(runtime()->error); }
CALL(hipSetDevice, (int device)) { return answer(on_device(device)); }
CALL(hipDeviceSynchronize, (void)) { return answer(drain()); }
CALL(hipPeekAtLastError, (void)) { return last; }
CALL(hipGetLastError, (void)) { int error = last; last = 0; return error; }
CALL(hipStreamQuery, (hipStream_t stream)) { return stream ? INVALID_HANDLE : idle() ? 0 : NOT_READY; }

__attribute__((visibility("default"))) const char *hipGetErrorName(int error);
const char *hipGetErrorName(int error)
{
	static const struct {
		int error;
		const char *name;
	} names[] = {
		{ INVALID_VALUE, "hipErrorInvalidValue" }, { OUT_OF_MEMORY, "hipErrorOutOfMemory" },
		{ NOT_INITIALISED, "hipErrorNotInitialized" }, { INVALID_CONFIGURATION, "hipErrorInvalidConfiguration" },
		{ NO_DEVICE, "hipErrorNoDevice" }, { INVALID_DEVICE, "hipErrorInvalidDevice" },
		{ INVALID_IMAGE, "hipErrorInvalidImage" }, { INVALID_HANDLE, "hipErrorInvalidHandle" },
		{ hipErrorNotFound, "hipErrorNotFound" }, { LAUNCH_FAILURE, "hipErrorLaunchFailure" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].error == error)
			return names[i].name;
	return "hipErrorUnknown";
}

static size_t memory_size(void)
{
	size_t size = 0;

	return hsa_region_get_info(runtime()->memory, HSA_REGION_INFO_SIZE, &size) ? 0 : size;
}

CALL(hipGetDeviceProperties, (struct hip_properties *p, int device))
{
	int error = on_device(device);

	if (error)
		return answer(error);
	memset(p, 0, offsetof(struct hip_properties, rest));
	snprintf(p->name, sizeof(p->name), "%.*s, by the tests' own HIP over ROCr", (int)strcspn(runtime()->arch, ":"), runtime()->arch);
	snprintf(p->gcn_arch_name, sizeof(p->gcn_arch_name), "%s", runtime()->arch);
	p->memory = memory_size();
	p->warp_size = (int)info(HSA_AGENT_INFO_WAVEFRONT_SIZE);
	p->max_threads_per_block = (int)info(HSA_AGENT_INFO_WORKGROUP_MAX_SIZE);
	p->units = (int)info((hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
	p->max_threads_per_unit = p->warp_size * (int)info((hsa_agent_info_t)HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU);
	for (int i = 0; i < 3; i++) {
		p->max_threads[i] = p->max_threads_per_block;
		p->max_grid[i] = (int)most_blocks(i);
	}
	return 0;
}

CALL(hipDeviceGetPCIBusId, (char *id, int size, int device))
{
	uint32_t domain = info((hsa_agent_info_t)HSA_AMD_AGENT_INFO_DOMAIN), bdf = info((hsa_agent_info_t)HSA_AMD_AGENT_INFO_BDFID);

	snprintf(id, (size_t)size, "%04x:%02x:%02x.%x", domain, bdf >> 8, bdf >> 3 & 31, bdf & 7);
	return answer(on_device(device));
}

CALL(hipDeviceGetAttribute, (int *value, int attribute, int device))
{
	*value = attribute == HIP_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
	return answer(on_device(device));
}

/* ---- memory ---- */

static int allocate(void **address, size_t size)
{
	if (runtime()->error)
		return runtime()->error;
	if (hsa_memory_allocate(runtime()->memory, size ? size : 1, address))
		return OUT_OF_MEMORY;
	memset(*address, FILL, size);
	return 0;
}

static int release(void *address)
{
	int error = drain();

	return error || !address ? error : hsa_memory_free(address) ? INVALID_VALUE : 0;
}

static int copy(void *to, const void *from, size_t size)
{
	int error = drain();

	if (!error)
		memcpy(to, from, size);
	return error;
}

CALL(hipMalloc, (void **address, size_t size)) { return answer(allocate(address, size)); }
CALL(hipHostMalloc, (void **address, size_t size, unsigned flags)) { return answer(allocate(address, size)); }
CALL(hipMallocManaged, (void **address, size_t size, unsigned flags)) { return answer(allocate(address, size)); }
CALL(hipFree, (void *address)) { return answer(release(address)); }
CALL(hipHostFree, (void *address)) { return answer(release(address)); }
CALL(hipMemcpyHtoD, (void *to, const void *from, size_t size)) { return answer(copy(to, from, size)); }
CALL(hipMemcpyDtoH, (void *to, const void *from, size_t size)) { return answer(copy(to, from, size)); }
CALL(hipHostGetDevicePointer, (void **address, void *host, unsigned flags)) { *address = host; return 0; }
CALL(hipMemGetInfo, (size_t *unused, size_t *all)) { *unused = *all = memory_size(); return answer(runtime()->error); }
