/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL layer below the agent that makes a CPU device look like a discrete card with separate memory, so that the
 * agent copies arenas. If built with KEEPS_SYSTEM, kernels may access all memory of the process, as over NVLink. The
 * layer reports $GPUBPF_TEST_MEMORY as the memory size in bytes, and $GPUBPF_TEST_FREE as the free part, as AMD's
 * devices do.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <stdlib.h>

#include "layer.h"

static cl_int free_memory(size_t size, size_t *kib)
{
	const char *is = getenv("GPUBPF_TEST_FREE");

	if (!is || size < sizeof(*kib))
		return CL_INVALID_VALUE;
	*kib = strtoull(is, NULL, 0) / 1024;
	return CL_SUCCESS;
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, size_t size, void *value,
				      size_t *size_ret)
{
	cl_int err = name == CL_DEVICE_GLOBAL_FREE_MEMORY_AMD ? free_memory(size, value) :
								next->clGetDeviceInfo(device, name, size, value, size_ret);

	if (err || !value)
		return err;
	if (name == CL_DEVICE_GLOBAL_MEM_SIZE && getenv("GPUBPF_TEST_MEMORY"))
		*(cl_ulong *)value = strtoull(getenv("GPUBPF_TEST_MEMORY"), NULL, 0);
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
