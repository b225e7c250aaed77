/* SPDX-License-Identifier: Apache-2.0 */
/* A layer under the agent in which launches of NULL_ITEMS work-items do nothing, so that the agent's own time
 * can be measured. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include <string.h>

#define NULL_ITEMS 64 /* as tests/hooks/overhead.c launches */

static const cl_icd_dispatch *next;
static cl_icd_dispatch table;

static cl_int CL_API_CALL nothing(cl_command_queue queue, cl_kernel kernel, cl_uint dim, const size_t *offset,
				  const size_t *global, const size_t *local, cl_uint nwait, const cl_event *wait,
				  cl_event *event)
{
	if (global && global[0] == NULL_ITEMS)
		return CL_SUCCESS;
	return next->clEnqueueNDRangeKernel(queue, kernel, dim, offset, global, local, nwait, wait, event);
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
	table.clEnqueueNDRangeKernel = nothing;
	*layer = &table;
	*n_ret = entries;
	return CL_SUCCESS;
}

#pragma GCC visibility pop
