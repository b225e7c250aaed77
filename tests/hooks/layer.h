/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common code of OpenCL layers for tests. The layer forwards all calls except the calls that layer_override() replaces.
 */
#ifndef GPUBPF_TESTS_HOOKS_LAYER_H
#define GPUBPF_TESTS_HOOKS_LAYER_H

#include <CL/cl_layer.h>
#include <string.h>

static const cl_icd_dispatch *next;

static void layer_override(cl_icd_dispatch *table);

#pragma GCC visibility push(default)

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *size_ret)
{
	cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	(void)size_ret;
	if (name != CL_LAYER_API_VERSION || size < sizeof(version) || !value)
		return CL_INVALID_VALUE;
	memcpy(value, &version, sizeof(version));
	return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *n_ret,
					    const cl_icd_dispatch **layer)
{
	static cl_icd_dispatch table;
	size_t entries = sizeof(table) / sizeof(void *);

	next = target;
	memcpy(&table, target, (n < entries ? n : entries) * sizeof(void *));
	layer_override(&table);
	*layer = &table;
	*n_ret = entries;
	return CL_SUCCESS;
}

#pragma GCC visibility pop

#endif
