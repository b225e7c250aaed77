/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded library: simulates a machine without NVIDIA's linker. */
#include <dlfcn.h>
#include <string.h>

__attribute__((visibility("default"))) void *dlopen(const char *name, int flags)
{
	void *(*next)(const char *name, int flags) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");

	return name && strstr(name, "libnvJitLink") ? NULL : next(name, flags);
}
