/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the functions to Debian's Level Zero loader (1.8) that Intel's SYCL adapter (2025.3) needs. sycl.py installs
 * this library as libze_loader.so.1 and the system's loader as libze_system.so.1. The adapter statically contains a
 * part of a newer loader, which initialises the system's loader. Later zeInit() of loader 1.8 initialises the system's
 * loader again, reloads all drivers and loses the function tables of the drivers that it loaded first. The adapter also
 * queries the root of each device.
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

/* Returns NULL, which marks a root device. The fake driver's subdevices count as root devices here. */
ze_result_t ZE_APICALL zeDeviceGetRootDevice(ze_device_handle_t device, ze_device_handle_t *root)
{
	*root = NULL;
	return ZE_RESULT_SUCCESS;
}
