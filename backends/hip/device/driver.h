/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the HIP runtime's API that gpubpf calls. The declarations are repeated here so that the project builds
 * without ROCm. Types and numbers follow hip_runtime_api.h of ROCm 5 to 7.
 */
#ifndef GPUBPF_BACKENDS_HIP_DEVICE_DRIVER_H
#define GPUBPF_BACKENDS_HIP_DEVICE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int hipError_t; /* 0: success */
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphNode *hipGraphNode_t;
typedef struct hipGraphExec *hipGraphExec_t;

typedef struct dim3 {
	uint32_t x, y, z;
} dim3;

enum {
	hipErrorNotFound = 500,
	HIP_FUNC_ATTRIBUTE_NUM_REGS = 4,
	HIP_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 9,
	HIP_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED = 15,
	HIP_HOST_MALLOC_MAPPED = 2,
	HIP_HOST_MALLOC_COHERENT = 0x40000000,
	HIP_MEM_ATTACH_GLOBAL = 1,
};

/* The structure that the symbol hipGetDeviceProperties fills in all versions. Headers of ROCm 6 and later map this name
 * to another symbol, which fills a newer structure. */
struct hip_properties {
	char name[256];
	size_t memory, shared_per_block;
	int regs_per_block, warp_size, max_threads_per_block, max_threads[3], max_grid[3], clock_rate;
	int memory_clock_rate, memory_bus_width;
	size_t constant_memory;
	int major, minor, units, l2_size, max_threads_per_unit, compute_mode, clock_instruction_rate;
	unsigned arch;
	int concurrent_kernels, pci_domain, pci_bus, pci_device;
	size_t max_shared_per_unit;
	int multi_gpu_board, maps_host_memory, gcn_arch;
	char gcn_arch_name[256]; /* "gfx90a:sramecc+:xnack-" */
	char rest[1024];
};

struct hip_function_attributes {
	int binary_version, cache_mode;
	size_t const_size, local_size;
	int max_dynamic_shared, max_threads, regs, carveout, ptx_version;
	size_t shared_size;
	char rest[64];
};

/* The required functions: HIP_FN(member, symbol, arguments). Each function returns hipError_t. */
#define HIP_FUNCTIONS(HIP_FN) \
	HIP_FN(init, hipInit, (unsigned flags)) \
	HIP_FN(version, hipRuntimeGetVersion, (int *version)) \
	HIP_FN(device_count, hipGetDeviceCount, (int *count)) \
	HIP_FN(get_device, hipGetDevice, (int *device)) \
	HIP_FN(set_device, hipSetDevice, (int device)) \
	HIP_FN(properties, hipGetDeviceProperties, (struct hip_properties *p, int device)) \
	HIP_FN(pci_id, hipDeviceGetPCIBusId, (char *id, int size, int device)) \
	HIP_FN(synchronize, hipDeviceSynchronize, (void)) \
	HIP_FN(mem_alloc, hipMalloc, (void **address, size_t size)) \
	HIP_FN(mem_free, hipFree, (void *address)) \
	HIP_FN(host_alloc, hipHostMalloc, (void **address, size_t size, unsigned flags)) \
	HIP_FN(host_free, hipHostFree, (void *address)) \
	HIP_FN(copy_to, hipMemcpyHtoD, (void *to, const void *from, size_t size)) \
	HIP_FN(copy_from, hipMemcpyDtoH, (void *to, const void *from, size_t size)) \
	HIP_FN(peek_error, hipPeekAtLastError, (void)) \
	HIP_FN(last_error, hipGetLastError, (void)) \
	HIP_FN(module_load, hipModuleLoadData, (hipModule_t *module, const void *image)) \
	HIP_FN(module_unload, hipModuleUnload, (hipModule_t module)) \
	HIP_FN(module_function, hipModuleGetFunction, (hipFunction_t *f, hipModule_t module, const char *name)) \
	HIP_FN(function_attribute, hipFuncGetAttribute, (int *value, int attribute, hipFunction_t f)) \
	HIP_FN(launch, hipModuleLaunchKernel, (hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, \
		unsigned by, unsigned bz, unsigned shared, hipStream_t stream, void **params, void **extra))

/* Functions that older runtimes lack. The member is NULL if the runtime lacks the function. */
#define HIP_OPTIONAL(HIP_FN) \
	HIP_FN(attribute, hipDeviceGetAttribute, (int *value, int attribute, int device)) \
	HIP_FN(host_address, hipHostGetDevicePointer, (void **address, void *host, unsigned flags)) \
	HIP_FN(mem_info, hipMemGetInfo, (size_t *free, size_t *all)) \
	HIP_FN(mem_managed, hipMallocManaged, (void **address, size_t size, unsigned flags))

struct hip_driver {
#define HIP_FN(member, symbol, arguments) hipError_t (*member) arguments;
	HIP_FUNCTIONS(HIP_FN)
	HIP_OPTIONAL(HIP_FN)
#undef HIP_FN
	const char *(*error_name)(hipError_t error);
	hipError_t (*capture_mode)(int *mode);          /* hipThreadExchangeStreamCaptureMode, or NULL */
	hipError_t (*stream_query)(hipStream_t stream); /* hipStreamQuery, or NULL if the runtime lacks it */
};

/* Returns a dlopen() handle of the HIP library that the process has loaded. If none is loaded and `load` is set, loads
 * the newest version. Returns NULL if there is none. */
void *hip_library(bool load);
/* Fills the table with the functions that `find` returns; `find` is the C library's dlsym() or has its semantics.
 * Returns false if the library lacks a required function, and sets *lacks to the function's name. */
bool hip_driver_fill(struct hip_driver *driver, void *library, void *(*find)(void *library, const char *name),
		     const char **lacks);
/* Loads the HIP library on the first call, and returns its functions. Returns NULL if it cannot be loaded, and stores
 * the reason in `why`. */
const struct hip_driver *hip_driver_load(char *why, size_t size);
const char *hip_error(const struct hip_driver *driver, hipError_t error); /* never NULL */

/* State of the thread during gpubpf's calls of the runtime. The function hip_enter() selects the device, and permits
 * calls that are forbidden while the thread captures a stream. Then hip_leave() restores the thread's device, capture
 * mode and last error. */
struct hip_visit {
	int device, capture_mode;
	bool had_no_error; /* the runtime had no pending error for this thread */
};

hipError_t hip_enter(const struct hip_driver *driver, int device, struct hip_visit *visit);
void hip_leave(const struct hip_driver *driver, int device, const struct hip_visit *visit);

#endif
