/* SPDX-License-Identifier: Apache-2.0 */
/* A layer under the agent that makes a CPU device look like a card with memory of its own, so that arenas are
 * copied to and fro as they are on cards. Built with KEEPS_SYSTEM kernels may use all memory of the process, as over NVLink. */
#define CL_TARGET_OPENCL_VERSION 300
#include "layer.h"

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
#ifndef KEEPS_SYSTEM
	if (name == CL_DEVICE_SVM_CAPABILITIES)
		*(cl_device_svm_capabilities *)value &= ~(cl_device_svm_capabilities)CL_DEVICE_SVM_FINE_GRAIN_SYSTEM;
#endif
	return err;
}

static void layer_override(cl_icd_dispatch *table)
{
	table->clGetDeviceInfo = device_info;
}
