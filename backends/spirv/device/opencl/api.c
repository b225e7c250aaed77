/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "opencl.h"

#include <CL/cl_icd.h>

static int copy_dispatch(struct ocl_api *api, const cl_icd_dispatch *d)
{
#define FILL(name) api->name = d->name;
	OCL_FUNCTIONS(FILL)
#undef FILL
	api->clCreateProgramWithIL = d->clCreateProgramWithIL;
	api->clSVMAlloc = d->clSVMAlloc;
	api->clSVMFree = d->clSVMFree;
	api->clSetKernelExecInfo = d->clSetKernelExecInfo;
	return 0;
}

int ocl_api_load(struct ocl_api *api, const void *dispatch, struct gpubpf_reason *why)
{
	void *lib;

	if (dispatch)
		return copy_dispatch(api, dispatch);
	lib = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		snprintf(why->text, sizeof(why->text), "no OpenCL loader: %s", dlerror());
		return -ENOENT;
	}
#define FILL(name) \
	api->name = (__typeof__(api->name))dlsym(lib, #name); \
	if (!api->name) { \
		snprintf(why->text, sizeof(why->text), "libOpenCL.so.1 has no %s", #name); \
		return -ENOENT; \
	}
	OCL_FUNCTIONS(FILL)
#undef FILL
	api->clCreateProgramWithIL = (__typeof__(api->clCreateProgramWithIL))dlsym(lib, "clCreateProgramWithIL");
	api->clSVMAlloc = (__typeof__(api->clSVMAlloc))dlsym(lib, "clSVMAlloc");
	api->clSVMFree = (__typeof__(api->clSVMFree))dlsym(lib, "clSVMFree");
	api->clSetKernelExecInfo = (__typeof__(api->clSetKernelExecInfo))dlsym(lib, "clSetKernelExecInfo");
	return 0;
}
