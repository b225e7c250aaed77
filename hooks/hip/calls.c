/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtime calls that load, look up and register kernels. The runtime executes each call, and the agent records the
 * result.
 */
#include "hip.h"

/* clang's __CudaFatBinaryWrapper for HIP: CodeGen/CGCUDANV.cpp */
struct wrapper {
	uint32_t magic, version;
	const void *image;
	void *unused;
};

#define WRAPPER_MAGIC 0x48495046 /* "HIPF" */

void **__hipRegisterFatBinary(const void *data)
{
	const struct wrapper *wrapper = data;
	void **binary = hip_next_init() ? hip_next.__hipRegisterFatBinary(data) : NULL;

	if (binary && wrapper->magic == WRAPPER_MAGIC)
		hip_module_add(binary, true, wrapper->image);
	return binary;
}

void __hipRegisterFunction(void **binary, const void *f, char *device_name, const char *name, unsigned limit, void *tid,
			   void *bid, dim3 *block, dim3 *grid, int *size)
{
	if (!hip_next_init())
		return;
	hip_next.__hipRegisterFunction(binary, f, device_name, name, limit, tid, bid, block, grid, size);
	hip_function_add(f, binary, name);
}

void __hipUnregisterFatBinary(void **binary)
{
	if (!hip_next_init())
		return;
	hip_module_remove(binary);
	hip_next.__hipUnregisterFatBinary(binary);
}

hipError_t hipModuleLoad(hipModule_t *module, const char *path)
{
	hipError_t error = HIP_HOST_CALL(MODULE, hipModuleLoad, (module, path));

	if (!error)
		hip_module_add_file(*module, path);
	return error;
}

hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
	hipError_t error = HIP_HOST_CALL(MODULE, hipModuleLoadData, (module, image));

	if (!error)
		hip_module_add(*module, false, image);
	return error;
}

hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned n, int *options, void **values)
{
	hipError_t error = HIP_HOST_CALL(MODULE, hipModuleLoadDataEx, (module, image, n, options, values));

	if (!error)
		hip_module_add(*module, false, image);
	return error;
}

hipError_t hipModuleUnload(hipModule_t module)
{
	if (!hip_next_init())
		return hipErrorNotFound;
	hip_module_remove(module);
	return HIP_HOST_CALL(MODULE, hipModuleUnload, (module));
}

hipError_t hipModuleGetFunction(hipFunction_t *f, hipModule_t module, const char *name)
{
	hipError_t error = hip_next_init() ? hip_next.hipModuleGetFunction(f, module, name) : hipErrorNotFound;

	if (!error)
		hip_function_add(*f, module, name);
	if (!error)
		hip_function_prefetch(*f);
	return error;
}

/*
 * These calls free all memory of a device, including the memory of the agent's maps. The destruction of a HIP context
 * frees no memory, because a context only names a device. (In HIP 5 a reset of the primary context frees nothing
 * either.)
 */

hipError_t hipDeviceReset(void)
{
	int device = 0;

	if (!hip_next_init() || !hip_next.hipDeviceReset)
		return hipErrorNotFound;
	if (hip_joined() && !hip_direct.get_device(&device))
		hip_device_end(device);
	return hip_next.hipDeviceReset();
}

hipError_t hipDevicePrimaryCtxReset(int device)
{
	if (!hip_next_init() || !hip_next.hipDevicePrimaryCtxReset)
		return hipErrorNotFound;
	hip_device_end(device);
	return hip_next.hipDevicePrimaryCtxReset(device);
}

/*
 * Calls of host_calls.def. The runtime does not report how long a single copy runs on the device. Events around the copy
 * would change the stream, so copies have the time of the call.
 */

/* kind: hipMemcpyKind */
static enum gpubpf_copy_direction hip_copy_direction(int kind)
{
	static const enum gpubpf_copy_direction directions[] = { [1] = GPUBPF_COPY_TO_DEVICE,
								 [2] = GPUBPF_COPY_TO_HOST,
								 [3] = GPUBPF_COPY_ON_DEVICE };

	return kind >= 0 && kind < 4 ? directions[kind] : GPUBPF_COPY_UNKNOWN;
}

#define HIP_HOST(name, event, parameters, arguments, ...) \
	hipError_t name parameters \
	{ \
		return HIP_HOST_CALL(event, name, arguments, ##__VA_ARGS__); \
	}
#include "host_calls.def"
