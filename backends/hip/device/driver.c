/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static struct hip_driver table;
static char problem[200];
static pthread_once_t once = PTHREAD_ONCE_INIT;

void *hip_library(bool load)
{
	static const char *const names[] = { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so" };
	void *lib = NULL;

	for (int i = 0; !lib && i < 4; i++)
		lib = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
	for (int i = 0; !lib && load && i < 4; i++)
		lib = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
	return lib;
}

bool hip_driver_fill(struct hip_driver *driver, void *library, void *(*find)(void *library, const char *name),
		     const char **lacks)
{
	*lacks = NULL;
#define HIP_FN(member, symbol, arguments) \
	driver->member = (hipError_t (*) arguments)find(library, #symbol); \
	if (!driver->member) \
		*lacks = #symbol;
	HIP_FUNCTIONS(HIP_FN)
#undef HIP_FN
#define HIP_FN(member, symbol, arguments) driver->member = (hipError_t (*) arguments)find(library, #symbol);
	HIP_OPTIONAL(HIP_FN)
#undef HIP_FN
	driver->error_name = (const char *(*)(hipError_t))find(library, "hipGetErrorName");
	driver->capture_mode = (hipError_t (*)(int *))find(library, "hipThreadExchangeStreamCaptureMode");
	driver->stream_query = (hipError_t (*)(hipStream_t))find(library, "hipStreamQuery");
	return !*lacks;
}

static void load(void)
{
	void *lib = hip_library(true);
	const char *lacks;

	if (!lib)
		snprintf(problem, sizeof(problem), "AMD's runtime is not installed: %s", dlerror());
	else if (!hip_driver_fill(&table, lib, dlsym, &lacks))
		snprintf(problem, sizeof(problem), "this version of AMD's runtime is not usable: it has no function %s",
			 lacks);
}

const struct hip_driver *hip_driver_load(char *why, size_t size)
{
	pthread_once(&once, load);
	if (!problem[0])
		return &table;
	snprintf(why, size, "%s", problem);
	return NULL;
}

const char *hip_error(const struct hip_driver *driver, hipError_t error)
{
	const char *name = driver->error_name ? driver->error_name(error) : NULL;

	return name ? name : "unknown HIP error";
}

hipError_t hip_enter(const struct hip_driver *driver, int device, struct hip_visit *visit)
{
	hipError_t error;

	visit->had_no_error = !driver->peek_error();
	visit->capture_mode = 2; /* hipStreamCaptureModeRelaxed */
	if (driver->capture_mode)
		driver->capture_mode(&visit->capture_mode);
	visit->device = device;
	error = driver->get_device(&visit->device);
	return error || visit->device == device ? error : driver->set_device(device);
}

void hip_leave(const struct hip_driver *driver, int device, const struct hip_visit *visit)
{
	int mode = visit->capture_mode;

	if (driver->capture_mode)
		driver->capture_mode(&mode);
	if (visit->device != device)
		driver->set_device(visit->device);
	if (visit->had_no_error && driver->peek_error())
		driver->last_error();
}
