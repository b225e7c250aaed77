/* SPDX-License-Identifier: Apache-2.0 */
#include "clapi.h"

#include <dlfcn.h>
#include <stddef.h>

static struct gpubpf_clapi api;

static const char *load(void)
{
	void *lib = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return dlerror();
#define CALL(name)                                                    \
	api.name = (__typeof__(api.name))dlsym(lib, #name);           \
	if (!api.name)                                                \
		return "libOpenCL.so.1 lacks " #name " (OpenCL 1.2)";
	GPUBPF_CL_CALLS(CALL)
#undef CALL
	api.clCreateProgramWithIL = (__typeof__(api.clCreateProgramWithIL))dlsym(lib, "clCreateProgramWithIL");
	return NULL;
}

const struct gpubpf_clapi *gpubpf_clapi(const char **why)
{
	static const char *reason;
	static int loaded;

	if (!loaded) {
		loaded = 1;
		reason = load();
	}
	*why = reason;
	return reason ? NULL : &api;
}
