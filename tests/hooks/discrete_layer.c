/* SPDX-License-Identifier: Apache-2.0 */
/* A layer under the agent that makes a CPU device look like a card with memory of its own, so that arenas are
 * copied to and fro as they are on cards. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include <string.h>

static const cl_icd_dispatch *next;
static cl_icd_dispatch table;

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, size_t size, void *value,
				      size_t *size_ret)
{
	cl_int err = next->clGetDeviceInfo(device, name, size, value, size_ret);

	if (err || !value)
		return err;
	if (name == CL_DEVICE_TYPE)
		*(cl_device_type *)value = CL_DEVICE_TYPE_GPU;
	if (name == CL_DEVICE_HOST_UNIFIED_MEMORY)
		*(cl_bool *)value = CL_FALSE;
	return err;
}

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
	size_t entries = sizeof(table) / sizeof(void *);

	next = target;
	memcpy(&table, target, (n < entries ? n : entries) * sizeof(void *));
	table.clGetDeviceInfo = device_info;
	*layer = &table;
	*n_ret = entries;
	return CL_SUCCESS;
}

#pragma GCC visibility pop
