/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake HIP runtime that executes no kernel, for tests of errors and of the cost of a launch. The variable
 * GPUBPF_TEST_FAKE_HIP makes it fail. With "memory" no allocation succeeds, with "full" one page is free, with "load"
 * only the first module loads. Built with FAKE_LACKS, it has no hipMemcpyHtoD.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/device/driver.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT const void *fake_image;       /* the last loaded image */
EXPORT _Atomic unsigned fake_images, fake_unloaded, fake_launches, fake_twins;
EXPORT _Atomic unsigned fake_cooperative, fake_on[2]; /* launches of twins: cooperative, per device */
/* number of live allocations; number of allocations that device resets freed */
EXPORT _Atomic unsigned fake_allocated, fake_lost;
EXPORT hipStream_t fake_stream;      /* stream of the last launch by hipModuleLaunchKernel() */
static _Thread_local int last;
static _Thread_local int current;
static struct { char name[64]; } function[64];
static _Atomic unsigned functions;

static bool fails(const char *how)
{
	const char *set = getenv("GPUBPF_TEST_FAKE_HIP");

	return set && !strcmp(set, how);
}

static int answer(int error)
{
	if (error)
		last = error;
	return error;
}

#define CALL(name, parameters) EXPORT int name parameters; EXPORT int name parameters

CALL(hipInit, (unsigned flags)) { return 0; }
CALL(hipRuntimeGetVersion, (int *version)) { *version = 50221153; return 0; }
CALL(hipGetDeviceCount, (int *count)) { *count = 2; return 0; }
CALL(hipGetDevice, (int *device)) { *device = current; return 0; }
CALL(hipSetDevice, (int device)) { current = device; return 0; }
CALL(hipDeviceSynchronize, (void)) { return 0; }
CALL(hipPeekAtLastError, (void)) { return last; }
CALL(hipGetLastError, (void)) { int error = last; last = 0; return error; }
CALL(hipFree, (void *at)) { fake_allocated--; free(at); return 0; }
CALL(hipDeviceReset, (void)) { fake_lost += fake_allocated; return 0; }
CALL(hipDevicePrimaryCtxReset, (int device)) { fake_lost += fake_allocated; return 0; }
CALL(hipHostMalloc, (void **at, size_t size, unsigned flags))
{
	*at = flags & HIP_HOST_MALLOC_MAPPED ? calloc(1, size) : NULL; /* only mapped host memory is available */
	return answer(*at ? 0 : 2);
}
CALL(hipHostGetDevicePointer, (void **address, void *at, unsigned flags))
{
	*address = at;
	return 0;
}
CALL(hipMallocManaged, (void **at, size_t size, unsigned flags))
{
	*at = calloc(1, size);
	fake_allocated++;
	return 0;
}
CALL(hipDeviceGetAttribute, (int *value, int attribute, int device))
{
	*value = attribute == HIP_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
	return 0;
}
CALL(hipHostFree, (void *at)) { free(at); return 0; }
CALL(hipMemcpyDtoH, (void *to, const void *from, size_t size)) { memcpy(to, from, size); return 0; }
#ifndef FAKE_LACKS
CALL(hipMemcpyHtoD, (void *to, const void *from, size_t size)) { memcpy(to, from, size); return 0; }
#endif
CALL(hipModuleUnload, (hipModule_t module)) { fake_unloaded++; return 0; }
CALL(hipFuncGetAttribute, (int *value, int what, hipFunction_t f)) { *value = 8; return 0; }
CALL(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, (int *n, hipFunction_t f, int threads, size_t shared))
{
	*n = 4;
	return 0;
}
CALL(hipDeviceGetPCIBusId, (char *id, int size, int device)) { strcpy(id, "0000:03:00.0"); return 0; }

CALL(hipGetDeviceProperties, (struct hip_properties *p, int device))
{
	memset(p, 0, offsetof(struct hip_properties, rest));
	strcpy(p->name, "fake");
	strcpy(p->gcn_arch_name, "gfx90a");
	p->warp_size = 64;
	p->units = 4;
	p->max_threads_per_unit = 2048;
	p->memory = 1u << 30;
	return 0;
}

CALL(hipMemGetInfo, (size_t *free, size_t *all))
{
	*all = 1u << 30;
	*free = fails("full") ? 4096 : *all;
	return answer(fails("untold") ? 1 : 0);
}

CALL(hipMalloc, (void **at, size_t size))
{
	if (fails("memory") || !(*at = malloc(size)))
		return answer(2);
	fake_allocated++;
	return 0;
}

CALL(hipModuleLoadData, (hipModule_t *module, const void *image))
{
	if (fake_images && fails("load"))
		return answer(209);
	fake_image = image;
	*module = (hipModule_t)(uintptr_t)(0x1000 + ++fake_images);
	return 0;
}

CALL(hipModuleGetFunction, (hipFunction_t *f, hipModule_t module, const char *name))
{
	unsigned i = functions++ % 64;

	strncpy(function[i].name, name, sizeof(function->name) - 1);
	*f = (hipFunction_t)&function[i];
	return 0;
}

static int launched(const char *name, bool cooperative, unsigned gx)
{
	bool twin = *name == 'g';

	fake_launches++;
	fake_twins += twin;
	fake_cooperative += twin && cooperative;
	fake_on[current] += twin;
	return gx ? 0 : answer(9);
}

CALL(hipModuleLaunchKernel, (hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			     unsigned bz, unsigned shared, hipStream_t stream, void **params, void **extra))
{
	fake_stream = stream;
	return launched((const char *)f, false, gx);
}

CALL(hipModuleLaunchCooperativeKernel, (hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
					unsigned bz, unsigned shared, hipStream_t stream, void **params))
{
	fake_stream = stream;
	return launched((const char *)f, true, gx);
}

/* ---- registered kernels ---- */

#define LAUNCH (const void *f, dim3 grid, dim3 block, void **args, size_t shared, hipStream_t stream)
#define COOPERATIVE (const void *f, dim3 grid, dim3 block, void **args, unsigned shared, hipStream_t stream)
CALL(hipLaunchKernel, LAUNCH) { return launched("", false, grid.x); }
CALL(hipLaunchKernel_spt, LAUNCH) { return launched("", false, grid.x); }
CALL(hipLaunchCooperativeKernel, COOPERATIVE) { return launched("", true, grid.x); }
CALL(hipLaunchCooperativeKernel_spt, COOPERATIVE) { return launched("", true, grid.x); }
CALL(hipOccupancyMaxActiveBlocksPerMultiprocessor, (int *n, const void *f, int threads, size_t shared))
{
	*n = 4;
	return 0;
}

EXPORT void **__hipRegisterFatBinary(const void *data);
EXPORT void **__hipRegisterFatBinary(const void *data)
{
	static void *binary[1];

	return binary;
}

EXPORT void __hipRegisterFunction(void **binary, const void *f, char *device_name, const char *name, unsigned limit,
				  void *tid, void *bid, dim3 *block, dim3 *grid, int *size);
EXPORT void __hipRegisterFunction(void **binary, const void *f, char *device_name, const char *name, unsigned limit,
				  void *tid, void *bid, dim3 *block, dim3 *grid, int *size)
{
}

/* Returns this library's function, even if another library defines the same name. */
static void *next_launch(void)
{
	void *self = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_NOLOAD);

	return self ? dlsym(self, "hipModuleLaunchKernel") : NULL;
}

CALL(hipGetProcAddress, (const char *symbol, void **to, int version, uint64_t flags, void *status))
{
	*to = strcmp(symbol, "hipModuleLaunchKernel") ? NULL : (void *)next_launch();
	return *to ? 0 : answer(500);
}
