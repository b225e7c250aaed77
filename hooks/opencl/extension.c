/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extension functions that applications look up by name. If such a function works on kernels, programs, memory or
 * command buffers, the layer returns its own function.
 */
#include "opencl.h"

#include <string.h>

static void *replacement_of(const char *name, void *theirs)
{
	static const struct {
		const char *name;
		void *function;
	} taken[] = {
		{ "clCreateProgramWithILKHR", ocl_create_il_khr },
#define OCL_CALL(call) { #call, ocl_##call },
#include "calls.def"
#undef OCL_CALL
	};

	for (int i = 0; theirs && i < OCL_POINTER_CALLS; i++)
		if (!strcmp(name, ocl_pointer_names[i]))
			return ocl_pointer_calls[i];
	for (int i = 0; theirs && i < OCL_BUFFER_CALLS; i++)
		if (!strcmp(name, ocl_buffer_calls[i].name))
			return ocl_buffer_calls[i].ours;
	for (int i = 0; theirs && i < OCL_USM_CALLS; i++)
		if (!strcmp(name, ocl_usm_calls[i].name))
			return ocl_usm_calls[i].ours;
	for (size_t i = 0; theirs && i < sizeof(taken) / sizeof(*taken); i++)
		if (!strcmp(name, taken[i].name))
			return taken[i].function;
	return theirs;
}

CL_API_ENTRY void *CL_API_CALL ocl_clGetExtensionFunctionAddress(const char *name)
{
	return replacement_of(name, ocl->clGetExtensionFunctionAddress(name));
}

CL_API_ENTRY void *CL_API_CALL ocl_clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
	return replacement_of(name, ocl->clGetExtensionFunctionAddressForPlatform(platform, name));
}
