/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver calls that load, look up and configure functions. The driver executes each call, and the agent records the
 * result.
 */
#include "cuda.h"
#include "hooks/entries/entries.h"

CUresult cuModuleLoad(CUmodule *module, const char *path)
{
	CUresult error = CUDA_HOST_CALL(MODULE, cuModuleLoad, (module, path));

	if (!error)
		cuda_module_add(*module, false, path, true, gpubpf_entry_caller(__builtin_return_address(0)));
	return error;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	CUresult error = CUDA_HOST_CALL(MODULE, cuModuleLoadData, (module, image));

	if (!error)
		cuda_module_add(*module, false, image, false, gpubpf_entry_caller(__builtin_return_address(0)));
	return error;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, int *options, void **values)
{
	CUresult error = CUDA_HOST_CALL(MODULE, cuModuleLoadDataEx, (module, image, n, options, values));

	if (!error)
		cuda_module_add(*module, false, image, false, gpubpf_entry_caller(__builtin_return_address(0)));
	return error;
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	CUresult error = CUDA_HOST_CALL(MODULE, cuModuleLoadFatBinary, (module, image));

	if (!error)
		cuda_module_add(*module, false, image, false, gpubpf_entry_caller(__builtin_return_address(0)));
	return error;
}

CUresult cuModuleUnload(CUmodule module)
{
	if (!cuda_next_init())
		return CUDA_ERROR_NOT_FOUND;
	cuda_module_remove(module);
	return CUDA_HOST_CALL(MODULE, cuModuleUnload, (module));
}

CUresult cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
	CUresult error = cuda_next_init() ? cuda_next.cuModuleGetFunction(f, module, name) : CUDA_ERROR_NOT_FOUND;

	if (!error)
		cuda_function_add(*f, cuda_module_find(module), name, false);
	if (!error)
		cuda_function_prefetch(*f);
	return error;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *image, int *jit, void **jit_values, unsigned njit,
			   int *options, void **values, unsigned n)
{
	CUresult error = CUDA_HOST_CALL(MODULE, cuLibraryLoadData,
					(library, image, jit, jit_values, njit, options, values, n));

	if (!error)
		cuda_module_add(*library, true, image, false, gpubpf_entry_caller(__builtin_return_address(0)));
	return error;
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, int *jit, void **jit_values, unsigned njit,
			       int *options, void **values, unsigned n)
{
	CUresult error = CUDA_HOST_CALL(MODULE, cuLibraryLoadFromFile,
					(library, path, jit, jit_values, njit, options, values, n));

	if (!error)
		cuda_module_add(*library, true, path, true, gpubpf_entry_caller(__builtin_return_address(0)));
	return error;
}

CUresult cuLibraryUnload(CUlibrary library)
{
	if (!cuda_next_init())
		return CUDA_ERROR_NOT_FOUND;
	cuda_module_remove(library);
	return CUDA_HOST_CALL(MODULE, cuLibraryUnload, (library));
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	CUresult error = cuda_next_init() ? cuda_next.cuLibraryGetKernel(kernel, library, name) : CUDA_ERROR_NOT_FOUND;

	if (!error)
		cuda_function_add(*kernel, cuda_module_find(library), name, true);
	if (!error)
		cuda_function_prefetch(*kernel);
	return error;
}

/*
 * Record the module that represents the library in the current context. Functions of that module have the library's
 * image.
 */
CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	CUresult error = cuda_next_init() ? cuda_next.cuLibraryGetModule(module, library) : CUDA_ERROR_NOT_FOUND;
	struct cuda_module *m = error ? NULL : cuda_module_find(library);

	if (m && m->image.data)
		cuda_module_add_of(*module, m);
	return error;
}

CUresult cuKernelGetFunction(CUfunction *f, CUkernel kernel)
{
	CUresult error = cuda_next_init() ? cuda_next.cuKernelGetFunction(f, kernel) : CUDA_ERROR_NOT_FOUND;
	struct cuda_function *from = error || !cuda_active() ? NULL : cuda_function_find(kernel);

	if (from) {
		cuda_function_add(*f, from->module, gpubpf_hook_kernel_name(from->kernel), false);
		cuda_function_share(*f, from);
		cuda_function_prefetch(*f);
	}
	return error;
}

static void record_attribute(void *handle, int attribute, int value)
{
	struct cuda_function *f = cuda_active() ? cuda_function_find(handle) : NULL;

	if (f && attribute >= 0 && attribute < CUDA_ATTRIBUTES)
		atomic_store(&cuda_function_settings(f)->attribute[attribute], value);
}

CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value)
{
	CUresult error = cuda_next_init() ? cuda_next.cuFuncSetAttribute(f, attribute, value) : CUDA_ERROR_NOT_FOUND;

	if (!error)
		record_attribute(f, attribute, value);
	return error;
}

CUresult cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice device)
{
	CUresult error = cuda_next_init() ? cuda_next.cuKernelSetAttribute(attribute, value, kernel, device) :
					    CUDA_ERROR_NOT_FOUND;

	if (!error)
		record_attribute(kernel, attribute, value);
	return error;
}

static void record_cache_config(void *handle, int config)
{
	struct cuda_function *f = cuda_active() ? cuda_function_find(handle) : NULL;

	if (f)
		atomic_store(&cuda_function_settings(f)->cache_config, config);
}

CUresult cuFuncSetCacheConfig(CUfunction f, int config)
{
	CUresult error = cuda_next_init() ? cuda_next.cuFuncSetCacheConfig(f, config) : CUDA_ERROR_NOT_FOUND;

	if (!error)
		record_cache_config(f, config);
	return error;
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice device)
{
	CUresult error = cuda_next_init() && cuda_next.cuKernelSetCacheConfig ?
				 cuda_next.cuKernelSetCacheConfig(kernel, config, device) :
				 CUDA_ERROR_NOT_FOUND;

	if (!error)
		record_cache_config(kernel, config);
	return error;
}
