/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the application call the agent's functions instead of the runtime's. The application links them, since the
 * agent is preloaded, or looks them up by dlsym() or hipGetProcAddress(). Symbols that the agent does not interpose
 * resolve to the runtime's functions.
 */
#include "hip.h"
#include "hooks/process/agent_thread.h"
#include "hooks/process/dlsym.h"

#include <string.h>

struct hip_next hip_next;
struct hip_driver hip_direct;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;                   /* a runtime is loaded */
static const char *missing_function; /* name of a function that the agent needs and the runtime lacks; NULL: none */

static void load_runtime(void *unused)
{
	gpubpf_dlsym_fn find = gpubpf_dlsym_next();
	void *lib = hip_library(true);

	if (!lib)
		return;
	ready = true;
#define HIP_CALL(result, name, symbol, parameters) hip_next.name = (result (*) parameters)find(lib, symbol);
#include "calls.def"
#define NEXT(member, symbol) hip_next.member = (typeof(hip_next.member))find(lib, symbol)
	NEXT(attributes, "hipFuncGetAttributes");
	NEXT(occupancy, "hipOccupancyMaxActiveBlocksPerMultiprocessor");
	NEXT(module_occupancy, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
	NEXT(stream_device, "hipGetStreamDeviceId");
	NEXT(stream_capture, "hipStreamGetCaptureInfo_v2");
	NEXT(stream_depend, "hipStreamUpdateCaptureDependencies");
	NEXT(stream_capturing, "hipStreamIsCapturing");
	NEXT(device_pointer, "hipHostGetDevicePointer");
#undef NEXT
	hip_driver_fill(&hip_direct, lib, find, &missing_function);
}

static void load(void)
{
	gpubpf_run_on_agent_thread(load_runtime, NULL);
}

bool hip_next_init(void)
{
	pthread_once(&once, load);
	return ready;
}

bool hip_next_complete(void)
{
	if (!hip_next_init())
		return false;
	if (missing_function)
		gpubpf_log_once("AMD's runtime lacks %s: kernels run unprobed until a newer one is installed",
				missing_function);
	return !missing_function;
}

static void *find_hook(const char *symbol)
{
	static const struct {
		const char *name;
		void *ours;
	} hooks[] = {
#define HIP_CALL(result, name, symbol, parameters) { symbol, (void *)name },
#include "calls.def"
	};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		if (!strcmp(hooks[i].name, symbol))
			return hooks[i].ours;
	return NULL;
}

/*
 * The runtime chooses the symbol by the name and by the HIP version, so the symbol may differ from the name. The
 * address of the result identifies the symbol, and thereby the agent's function.
 */
hipError_t hipGetProcAddress(const char *symbol, void **pfn, int version, uint64_t flags, void *status)
{
	hipError_t error;

	if (!hip_next_init() || !hip_next.hipGetProcAddress)
		return hipErrorNotFound;
	error = hip_next.hipGetProcAddress(symbol, pfn, version, flags, status);
	if (error || !pfn || !*pfn)
		return error;
#define HIP_CALL(result, name, symbol, parameters) \
	if (*pfn == (void *)hip_next.name) { \
		*pfn = (void *)name; \
		return 0; \
	}
#include "calls.def"
	return 0;
}

GPUBPF_DLSYM_USER(hip, "hip", find_hook, hip_next_init);
GPUBPF_DLSYM_USER(hip_register, "__hip", find_hook, hip_next_init);
