/* SPDX-License-Identifier: Apache-2.0 */
/* A preloaded library whose dlopen() fails for NVIDIA's linker, as on a machine without it. */
#include <dlfcn.h>
#include <string.h>

__attribute__((visibility("default"))) void *dlopen(const char *name, int flags)
{
	void *(*next)(const char *name, int flags) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");

	return name && strstr(name, "libnvJitLink") ? NULL : next(name, flags);
}
