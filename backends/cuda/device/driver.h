/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares the part of the CUDA driver API that gpubpf calls, so that gpubpf builds without a CUDA toolkit. Types and
 * numbers follow the CUDA Driver API reference (v12, v13).
 */
#ifndef GPUBPF_BACKENDS_CUDA_DEVICE_DRIVER_H
#define GPUBPF_BACKENDS_CUDA_DEVICE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult; /* 0: success */
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef unsigned long long CUmemGenericAllocationHandle;

enum {
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_ILLEGAL_STATE = 401,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
	CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,

	CU_STREAM_NON_BLOCKING = 1,
	CU_STREAM_CAPTURE_MODE_RELAXED = 2,
	CU_MEMHOSTREGISTER_DEVICEMAP = 2,
	CU_MEM_ATTACH_GLOBAL = 1,

	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
	CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
	CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
	CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED = 86,
	CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
	CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100,

	CU_JIT_MAX_REGISTERS = 0,
	CU_JIT_ERROR_LOG_BUFFER = 5,
	CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,

	CU_MEM_ALLOCATION_TYPE_PINNED = 1,
	CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
	CU_MEM_LOCATION_TYPE_DEVICE = 1,
	CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
	CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
};

struct cu_mem_location {
	int type, id;
};

typedef struct CUmemAllocationProp_st {
	int type;
	int requestedHandleTypes;
	struct cu_mem_location location;
	void *win32HandleMetaData;
	struct {
		unsigned char compressionType, gpuDirectRDMACapable;
		unsigned short usage;
		unsigned char reserved[4];
	} allocFlags;
} CUmemAllocationProp;

typedef struct CUmemAccessDesc_st {
	struct cu_mem_location location;
	int flags;
} CUmemAccessDesc;

/*
 * CUDA_FN(member, symbol, arguments): `member` of struct cuda_driver is a pointer to the driver API's function
 * `symbol`, which takes `arguments` and returns CUresult
 */
#define CUDA_FUNCTIONS(CUDA_FN) \
	CUDA_FN(init, cuInit, (unsigned flags)) \
	CUDA_FN(driver_version, cuDriverGetVersion, (int *version)) \
	CUDA_FN(error_name, cuGetErrorName, (CUresult error, const char **name)) \
	CUDA_FN(device_count, cuDeviceGetCount, (int *count)) \
	CUDA_FN(device_get, cuDeviceGet, (CUdevice *device, int ordinal)) \
	CUDA_FN(device_name, cuDeviceGetName, (char *name, int size, CUdevice device)) \
	CUDA_FN(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, CUdevice device)) \
	CUDA_FN(device_memory, cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device)) \
	CUDA_FN(primary_retain, cuDevicePrimaryCtxRetain, (CUcontext *context, CUdevice device)) \
	CUDA_FN(primary_release, cuDevicePrimaryCtxRelease_v2, (CUdevice device)) \
	CUDA_FN(ctx_push, cuCtxPushCurrent_v2, (CUcontext context)) \
	CUDA_FN(ctx_pop, cuCtxPopCurrent_v2, (CUcontext *context)) \
	CUDA_FN(ctx_device, cuCtxGetDevice, (CUdevice *device)) \
	CUDA_FN(ctx_synchronize, cuCtxSynchronize, (void)) \
	CUDA_FN(capture_mode, cuThreadExchangeStreamCaptureMode, (int *mode)) \
	CUDA_FN(stream_create, cuStreamCreate, (CUstream *stream, unsigned flags)) \
	CUDA_FN(stream_destroy, cuStreamDestroy_v2, (CUstream stream)) \
	CUDA_FN(stream_synchronize, cuStreamSynchronize, (CUstream stream)) \
	CUDA_FN(stream_query, cuStreamQuery, (CUstream stream)) \
	CUDA_FN(module_load, cuModuleLoadDataEx, (CUmodule *module, const void *image, unsigned n, int *options, void **values)) \
	CUDA_FN(module_unload, cuModuleUnload, (CUmodule module)) \
	CUDA_FN(module_function, cuModuleGetFunction, (CUfunction *function, CUmodule module, const char *name)) \
	CUDA_FN(module_global, cuModuleGetGlobal_v2, (CUdeviceptr *address, size_t *size, CUmodule module, const char *name)) \
	CUDA_FN(launch, cuLaunchKernel, (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
		unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)) \
	CUDA_FN(mem_info, cuMemGetInfo_v2, (size_t *free, size_t *all)) \
	CUDA_FN(mem_alloc, cuMemAlloc_v2, (CUdeviceptr *address, size_t size)) \
	CUDA_FN(mem_free, cuMemFree_v2, (CUdeviceptr address)) \
	CUDA_FN(host_alloc, cuMemHostAlloc, (void **address, size_t size, unsigned flags)) \
	CUDA_FN(host_free, cuMemFreeHost, (void *address)) \
	CUDA_FN(host_register, cuMemHostRegister_v2, (void *address, size_t size, unsigned flags)) \
	CUDA_FN(host_address, cuMemHostGetDevicePointer_v2, (CUdeviceptr *address, void *host, unsigned flags)) \
	CUDA_FN(mem_managed, cuMemAllocManaged, (CUdeviceptr *address, size_t size, unsigned flags)) \
	CUDA_FN(host_unregister, cuMemHostUnregister, (void *address)) \
	CUDA_FN(copy_to, cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t size, CUstream stream)) \
	CUDA_FN(copy_from, cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t size, CUstream stream)) \
	CUDA_FN(mem_granularity, cuMemGetAllocationGranularity, (size_t *size, const CUmemAllocationProp *prop, int option)) \
	CUDA_FN(mem_create, cuMemCreate, (CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop, \
		unsigned long long flags)) \
	CUDA_FN(mem_release, cuMemRelease, (CUmemGenericAllocationHandle handle)) \
	CUDA_FN(mem_export, cuMemExportToShareableHandle, (void *to, CUmemGenericAllocationHandle handle, int type, \
		unsigned long long flags)) \
	CUDA_FN(mem_properties, cuMemGetAllocationPropertiesFromHandle, (CUmemAllocationProp *prop, \
		CUmemGenericAllocationHandle handle)) \
	CUDA_FN(mem_import, cuMemImportFromShareableHandle, (CUmemGenericAllocationHandle *handle, void *from, int type)) \
	CUDA_FN(mem_reserve, cuMemAddressReserve, (CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr hint, \
		unsigned long long flags)) \
	CUDA_FN(mem_unreserve, cuMemAddressFree, (CUdeviceptr address, size_t size)) \
	CUDA_FN(mem_map, cuMemMap, (CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle, \
		unsigned long long flags)) \
	CUDA_FN(mem_unmap, cuMemUnmap, (CUdeviceptr address, size_t size)) \
	CUDA_FN(mem_access, cuMemSetAccess, (CUdeviceptr address, size_t size, const CUmemAccessDesc *desc, size_t n))

struct cuda_driver {
#define CUDA_FN(member, symbol, arguments) CUresult (*member) arguments;
	CUDA_FUNCTIONS(CUDA_FN)
#undef CUDA_FN
};

/*
 * Loads libcuda.so.1 on the first call and returns its functions. Returns NULL and one line of `why` if the library
 * cannot be loaded.
 */
const struct cuda_driver *cuda_driver_load(char *why, size_t size);
/*
 * Makes a context current for our calls. The calls work even while the application captures a stream in this thread.
 * Call cuda_leave() only after cuda_enter() returned 0. Our copies and GPU kernels must not use the legacy default
 * stream. There they would wait for the application's streams and break its captures.
 */
CUresult cuda_enter(const struct cuda_driver *driver, CUcontext context, int *mode);
void cuda_leave(const struct cuda_driver *driver, int *mode);
/* Copies to the device and waits for the copy. The caller has called cuda_enter(). */
CUresult cuda_copy_to(const struct cuda_driver *driver, CUdeviceptr to, const void *from, size_t size);

/*
 * A call that waits for a context breaks a stream capture in that context. So our threads wait only if
 * cuda_wait_begin() returns true; it returns false while a capture is open. The function cuda_capture_begin() first
 * marks a capture as open, so that no further wait can begin. It then sleeps until no thread of ours waits, at most 2
 * ms. This gives a thread whose wait has just begun the time to enter the driver before the capture begins.
 */
bool cuda_wait_begin(void);
void cuda_wait_end(void);
void cuda_capture_begin(void);
void cuda_capture_end(void);
void cuda_captures_forget(void); /* a detach has removed the hooks, so the ends of open captures are not counted */
/*
 * After a detach, all twins have ended and none can start. Without hooks the agent does not see captures, so it must
 * not wait for a context: the waits for GPU kernels return at once.
 */
void cuda_twins_have_ended(bool ended);
bool cuda_twins_ended(void);
bool cuda_capture_open(void); /* returns true if a stream may be under capture */

/* Returns a name such as "CUDA_ERROR_INVALID_VALUE", never NULL. */
const char *cuda_error(const struct cuda_driver *driver, CUresult error);

#endif
