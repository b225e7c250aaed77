/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL layer in place of the agent. The ICD loader requests its table as Khronos's loader does since v2026.05.29.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <string.h>

typedef cl_int (CL_API_CALL *init_fn)(cl_uint n, const cl_icd_dispatch *target, cl_uint *n_ret, const cl_icd_dispatch **layer,
				      const void *properties);

#pragma GCC visibility push(default)

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *size_ret)
{
	cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	if (name != CL_LAYER_API_VERSION || size < sizeof(version) || !value)
		return CL_INVALID_VALUE;
	memcpy(value, &version, sizeof(version));
	return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *n_ret,
					    const cl_icd_dispatch **layer)
{
	static const long properties[] = { 0 };
	init_fn init = (init_fn)dlsym(RTLD_DEFAULT, "clInitLayerWithProperties");

	if (init)
		return init(n, target, n_ret, layer, properties);
	*layer = target;
	*n_ret = n;
	return CL_SUCCESS;
}

#pragma GCC visibility pop
