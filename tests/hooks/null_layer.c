/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL layer below the agent that drops launches of NULL_ITEMS work-items. With this layer a test can measure the
 * time of the agent alone.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include "layer.h"

#define NULL_ITEMS 64 /* the number of work-items that tests/hooks/overhead.c launches */

static cl_int CL_API_CALL nothing(cl_command_queue queue, cl_kernel kernel, cl_uint dim, const size_t *offset,
				  const size_t *global, const size_t *local, cl_uint nwait, const cl_event *wait,
				  cl_event *event)
{
	if (global && global[0] == NULL_ITEMS)
		return CL_SUCCESS;
	return next->clEnqueueNDRangeKernel(queue, kernel, dim, offset, global, local, nwait, wait, event);
}

static void layer_override(cl_icd_dispatch *table)
{
	table->clEnqueueNDRangeKernel = nothing;
}
