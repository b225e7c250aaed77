/* SPDX-License-Identifier: Apache-2.0 */
/* A fake OpenCL loader; with LAYERS it contains that text, as if it had layers; with DRIVER it is a driver. */
#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef DRIVER
EXPORT void *clGetExtensionFunctionAddress(const char *name);

void *clGetExtensionFunctionAddress(const char *name)
{
	return NULL;
}
#else
EXPORT int clGetPlatformIDs(const char *driver);
#ifdef LAYERS
EXPORT const char *const layers = LAYERS;
#endif

int clGetPlatformIDs(const char *driver)
{
	return dlopen(driver, RTLD_NOW | RTLD_LOCAL) ? 0 : -1;
}
#endif
