/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two entry points of the OpenCL layer (cl_loader_layers). Without a session the layer returns the dispatch table
 * that it received, so an application that is not traced has no overhead.
 */
#include "opencl.h"

#include <dlfcn.h>
#include <string.h>

#define LAYER_NAME "gpubpf"

static cl_icd_dispatch table;
static const void *loader; /* load address of the OpenCL loader whose functions are in `ocl` */

static const void *object_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* Keep the OpenCL loader loaded until the process ends, because the layer calls the loader's functions until then. */
static void pin_loader(const void *address)
{
	Dl_info info;

	if (dladdr(address, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/*
 * Called when the layer is initialized a second time. If OPENCL_LAYERS names the layer twice, the second instance only
 * forwards calls. A second OpenCL loader is not supported, so report it.
 */
static void warn_second_init(const void *address)
{
	Dl_info info;

	if (gpubpf_hook_active() && object_of(address) != loader)
		gpubpf_log_once("the application loaded a second OpenCL loader, %s; kernels launched through that "
				"loader run unprobed; make the application use only one loader",
				dladdr(address, &info) ? info.dli_fname : "?");
}

static cl_int init_layer(cl_uint num_entries, const cl_icd_dispatch *target, cl_uint *num_entries_ret,
			 const cl_icd_dispatch **layer, const void *caller)
{
	size_t entries = sizeof(table) / sizeof(void *);

	if (!target || !num_entries_ret || !layer)
		return CL_INVALID_VALUE;
	if (ocl) {
		warn_second_init(caller);
		*layer = target;
		*num_entries_ret = num_entries;
		return CL_SUCCESS;
	}
	memcpy(&table, target, (num_entries < entries ? num_entries : entries) * sizeof(void *));
	ocl = target;
	ocl_device_init();
	if (!gpubpf_hook_init(&ocl_hook_ops)) {
		loader = object_of(caller);
		pin_loader(caller);
		ocl_memory_init();
#define OCL_CALL(name)                            \
	if (table.name)                           \
		table.name = ocl_##name;
#include "calls.def"
#undef OCL_CALL
	}
	*layer = &table;
	*num_entries_ret = entries;
	return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint num_entries, const cl_icd_dispatch *target,
							  cl_uint *num_entries_ret, const cl_icd_dispatch **layer,
							  const void *properties);

#pragma GCC visibility push(default)

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void *value, size_t *size_ret)
{
	cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *from;
	size_t need;

	switch (name) {
	case CL_LAYER_API_VERSION:
		from = &version;
		need = sizeof(version);
		break;
	case CL_LAYER_NAME:
		from = LAYER_NAME;
		need = sizeof(LAYER_NAME);
		break;
	default:
		return CL_INVALID_VALUE;
	}
	if (value && size < need)
		return CL_INVALID_VALUE;
	if (value)
		memcpy(value, from, need);
	if (size_ret)
		*size_ret = need;
	return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint num_entries, const cl_icd_dispatch *target,
					    cl_uint *num_entries_ret, const cl_icd_dispatch **layer)
{
	return init_layer(num_entries, target, num_entries_ret, layer, __builtin_return_address(0));
}

/*
 * Khronos's loader calls this entry point since v2026.05.29, also in Intel's Python wheels. No properties are defined
 * yet.
 */
CL_API_ENTRY cl_int CL_API_CALL clInitLayerWithProperties(cl_uint num_entries, const cl_icd_dispatch *target,
							  cl_uint *num_entries_ret, const cl_icd_dispatch **layer,
							  const void *properties)
{
	return init_layer(num_entries, target, num_entries_ret, layer, __builtin_return_address(0));
}

#pragma GCC visibility pop
