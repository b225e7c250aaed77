/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver. Its launch function returns the number in its argument plus ADDED. Each loaded module gets another handle.
 */
#include <stdint.h>

#ifndef ADDED
#define ADDED 1
#endif

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuLaunch(void *f);
EXPORT int cuCtxGetCurrent(void **context);
EXPORT int cuModuleLoad(void **module, const char *path);
EXPORT int cuModuleLoadData(void **module, const void *image);
EXPORT int cuModuleUnload(void *module);
EXPORT extern const char driver_image[];

const char driver_image[] = ".version 8.0\n// an image in a library\n";
static char handles[64];
static int used;

int cuLaunch(void *f)
{
	return (int)(intptr_t)f + ADDED;
}

int cuCtxGetCurrent(void **context)
{
	*context = handles;
	return 0;
}

int cuModuleLoad(void **module, const char *path)
{
	return cuModuleLoadData(module, path);
}

/* A NULL image is an error. */
int cuModuleLoadData(void **module, const void *image)
{
	if (!image)
		return 1;
	*module = &handles[1 + used++];
	return 0;
}

int cuModuleUnload(void *module)
{
	return module ? 0 : 1;
}
