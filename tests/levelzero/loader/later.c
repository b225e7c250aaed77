/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Intel's adapter of SYCL (2025.3) needs of a Level Zero loader and Debian's (1.8) lacks, on top of that: libze_loader.so.1 for
 * who finds this file by that name, and the system's where it is called libze_system.so.1 (sycl.py makes both names). The adapter has
 * a part of newer loaders linked into it, which initialises the loader; 1.8's own zeInit() does it again, reads all drivers once more
 * and forgets where the tables of the first ones were. And it asks each device for its root.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <level_zero/ze_api.h>
#include <pthread.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

static ze_result_t initialised = ZE_RESULT_ERROR_UNINITIALIZED;

static void init(void)
{
	ze_result_t (*system)(void) = (ze_result_t (*)(void))dlsym(RTLD_NEXT, "zeLoaderInit");

	initialised = system ? system() : ZE_RESULT_ERROR_UNINITIALIZED;
}

EXPORT ze_result_t zeLoaderInit(void);
EXPORT ze_result_t ZE_APICALL zeDeviceGetRootDevice(ze_device_handle_t device, ze_device_handle_t *root);

ze_result_t zeLoaderInit(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init);
	return initialised;
}

/* NULL: it is one. The tests' driver has parts of devices; they pass as devices here. */
ze_result_t ZE_APICALL zeDeviceGetRootDevice(ze_device_handle_t device, ze_device_handle_t *root)
{
	*root = NULL;
	return ZE_RESULT_SUCCESS;
}
