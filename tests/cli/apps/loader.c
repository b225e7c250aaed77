/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake OpenCL library for tests, by default an OpenCL ICD loader. With -DLAYERS=TEXT the loader contains TEXT, as if
 * it supported OpenCL layers. The macro DRIVER turns the library into a fake OpenCL driver.
 */
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
