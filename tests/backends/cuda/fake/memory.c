/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory, pinned memory, copies, and memory that outlives the process, of the fake driver. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SOILED (8u << 20)  /* number of bytes at the start of new memory that are filled with garbage */

struct allocation {
	struct allocation *next;
	uint64_t address;
	size_t size;
	CUcontext context; /* NULL: no context owns it */
};
static struct allocation *allocations;

/* Frees the context's memory, except exportable memory. */
void fake_memory_die(CUcontext context)
{
	pthread_mutex_lock(&fake_lock);
	for (struct allocation **at = &allocations; *at;) {
		struct allocation *a = *at;

		if (a->context != context) {
			at = &a->next;
			continue;
		}
		*at = a->next;
		munmap((void *)a->address, a->size);
		free(a);
	}
	pthread_mutex_unlock(&fake_lock);
}

static void add_allocation(uint64_t address, size_t size, CUcontext context)
{
	struct allocation *a = malloc(sizeof(*a));

	pthread_mutex_lock(&fake_lock);
	*a = (struct allocation){ allocations, address, size, context };
	allocations = a;
	pthread_mutex_unlock(&fake_lock);
}

static bool valid(uint64_t address, size_t size)
{
	bool found = false;

	pthread_mutex_lock(&fake_lock);
	for (struct allocation *a = allocations; a && !found; a = a->next)
		found = address >= a->address && size <= a->size && address - a->address <= a->size - size;
	pthread_mutex_unlock(&fake_lock);
	return found;
}

CUresult fake_alloc(uint64_t *address, size_t size, CUcontext context)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return FAKE_OUT_OF_MEMORY;
	*address = (uintptr_t)at;
	add_allocation(*address, size, context);
	return 0;
}

FAKE_EXPORT CUresult cuMemGetInfo_v2(size_t *free, size_t *all)
{
	const char *some = getenv("FAKE_CUDA_FREE");

	*all = 4ull << 30;
	*free = some ? strtoull(some, NULL, 0) : *all;
	return fake_check("cuMemGetInfo_v2");
}

FAKE_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
	CUresult error = fake_check("cuMemAlloc_v2");

	return error ? error : fake_current() ? fake_alloc(address, size, fake_current()) : FAKE_INVALID_CONTEXT;
}

/* Removes the allocation from the list; the caller frees it. NULL: unknown address. */
static struct allocation *remove_allocation(uint64_t address)
{
	struct allocation **at = &allocations, *a;

	pthread_mutex_lock(&fake_lock);
	while (*at && (*at)->address != address)
		at = &(*at)->next;
	a = *at;
	if (a)
		*at = a->next;
	pthread_mutex_unlock(&fake_lock);
	return a;
}

static CUresult forget(uint64_t address)
{
	struct allocation *a = remove_allocation(address);

	if (!a)
		return FAKE_INVALID_VALUE;
	munmap((void *)a->address, a->size);
	free(a);
	return 0;
}

FAKE_EXPORT CUresult cuMemFree_v2(CUdeviceptr address)
{
	return forget(address);
}

static CUresult copy(uint64_t device, void *to, const void *from, size_t size)
{
	if (!fake_current())
		return FAKE_INVALID_CONTEXT;
	if (!valid(device, size))
		return FAKE_INVALID_VALUE;
	memcpy(to, from, size);
	return 0;
}

/*
 * Allocates host memory that the device can access. Here it is ordinary memory, but only the matching call may free it.
 */
FAKE_EXPORT CUresult cuMemHostAlloc(void **address, size_t size, unsigned flags)
{
	CUresult error = fake_check("cuMemHostAlloc");

	return error ? error : fake_alloc((uint64_t *)address, size, NULL);
}

FAKE_EXPORT CUresult cuMemFreeHost(void *address)
{
	return forget((uintptr_t)address);
}

static atomic_int pinned;
static _Atomic(void *) mapped;            /* the newest host memory that kernels may access */
static atomic_uint_fast64_t pinned_bytes; /* bytes pinned since the start of the process */

bool fake_pinned_enough(void)
{
	const char *least = getenv("FAKE_CUDA_PINNED");

	return !least || pinned_bytes >= strtoull(least, NULL, 0);
}

FAKE_EXPORT CUresult cuMemHostRegister_v2(void *address, size_t size, unsigned flags)
{
	CUresult error = fake_check("cuMemHostRegister_v2");

	if (!error) {
		if (flags & CU_MEMHOSTREGISTER_DEVICEMAP)
			atomic_store(&mapped, address);
		atomic_fetch_add(&pinned, 1);
		atomic_fetch_add(&pinned_bytes, size);
	}
	return error;
}

/* Returns the host address itself as device address, if the memory is registered with the driver. */
FAKE_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned flags)
{
	CUresult error = fake_check("cuMemHostGetDevicePointer_v2");

	if (!error && host != atomic_load(&mapped))
		error = FAKE_INVALID_VALUE;
	if (!error)
		*address = (uintptr_t)host;
	return error;
}

FAKE_EXPORT CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned flags)
{
	CUresult error = fake_check("cuMemAllocManaged");

	if (!error && flags != CU_MEM_ATTACH_GLOBAL)
		error = FAKE_INVALID_VALUE;
	return error ? error : fake_alloc(address, size, fake_current());
}

FAKE_EXPORT CUresult cuMemHostUnregister(void *address)
{
	return atomic_fetch_sub(&pinned, 1) > 0 ? 0 : FAKE_INVALID_VALUE;
}

FAKE_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size)
{
	CUresult error = fake_check("cuMemcpyHtoD_v2");

	if (!error)
		error = fake_capture_rule(FAKE_CAPTURE_IMPLICIT);
	return error ? error : copy(to, (void *)to, from, size);
}

FAKE_EXPORT CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size)
{
	CUresult error = fake_check("cuMemcpyDtoH_v2");

	if (!error)
		error = fake_capture_rule(FAKE_CAPTURE_IMPLICIT);
	return error ? error : copy(from, to, (void *)from, size);
}

/*
 * Returns the error of an operation in the stream. The legacy stream is forbidden during a capture, because it would
 * wait for the captured stream.
 */
static CUresult stream_rule(CUstream stream)
{
	if (stream && (!stream->context->alive || stream->life != stream->context->life))
		return FAKE_CONTEXT_DESTROYED;
	return stream && !stream->blocking ? 0 : fake_capture_rule(FAKE_CAPTURE_IMPLICIT);
}

FAKE_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
	CUresult error = fake_check("cuMemcpyHtoDAsync_v2");

	if (!error)
		error = stream_rule(stream);
	return error ? error : copy(to, (void *)to, from, size);
}

FAKE_EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
	CUresult error = fake_check("cuMemcpyDtoHAsync_v2");

	if (!error)
		error = stream_rule(stream);
	return error ? error : copy(from, to, (void *)from, size);
}

FAKE_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
	CUresult error = fake_check("cuMemcpyDtoDAsync_v2");

	if (!error)
		error = stream_rule(stream);
	return error ? error : copy(from, (void *)to, (void *)from, size);
}

/* Copies from host memory to device memory; other copies of this shape are not supported. */
FAKE_EXPORT CUresult cuMemcpy2D_v2(const struct cuda_copy_2d *c)
{
	CUresult error = fake_check("cuMemcpy2D_v2");

	if (!error && (!c || c->from.end.type != CUDA_MEMORY_HOST || c->to.end.type != CUDA_MEMORY_DEVICE))
		error = FAKE_INVALID_VALUE;
	for (size_t y = 0; !error && y < c->height; y++)
		error = copy(c->to.end.device + y * c->to.pitch, (void *)(c->to.end.device + y * c->to.pitch),
			     (const char *)c->from.end.host + y * c->from.pitch, c->width);
	return error;
}

FAKE_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n)
{
	CUresult error = fake_check("cuMemsetD32_v2");

	for (size_t i = 0; !error && i < n; i++)
		error = copy(to + 4 * i, (void *)(to + 4 * i), &value, sizeof(value));
	return error;
}

FAKE_EXPORT CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream)
{
	CUresult error = fake_check("cuMemAllocAsync");

	return error ? error : fake_alloc(address, size, fake_current());
}

FAKE_EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	CUresult error = fake_check("cuMemFreeAsync");

	return error ? error : forget(address);
}

/* ---- memory that outlives the process: backed by a memfd ---- */

FAKE_EXPORT CUresult cuMemGetAllocationGranularity(size_t *size, const CUmemAllocationProp *prop, int option)
{
	*size = 1 << 16;
	return 0;
}

/* Fills new memory with garbage, because the content of real device memory is undefined. */
static bool soil(int fd, size_t size)
{
	size_t n = size < SOILED ? size : SOILED;
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return false;
	memset(at, 0xa5, n);
	return !munmap(at, n);
}

FAKE_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
				 unsigned long long flags)
{
	CUresult error = fake_check("cuMemCreate");
	int fd;

	if (error)
		return error;
	fd = memfd_create("fake-device-memory", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, size) < 0 || !soil(fd, size))
		return FAKE_OUT_OF_MEMORY;
	*handle = fd;
	return 0;
}

FAKE_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	return close(handle) ? FAKE_INVALID_HANDLE : 0;
}

FAKE_EXPORT CUresult cuMemExportToShareableHandle(void *to, CUmemGenericAllocationHandle handle, int type,
						  unsigned long long flags)
{
	*(int *)to = dup(handle);
	return *(int *)to < 0 ? FAKE_INVALID_HANDLE : 0;
}

FAKE_EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
	*prop = (CUmemAllocationProp){ .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	return 0;
}

FAKE_EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *from, int type)
{
	int fd = dup((int)(intptr_t)from);

	*handle = fd;
	return fd < 0 ? FAKE_INVALID_HANDLE : 0;
}

FAKE_EXPORT CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr hint,
					 unsigned long long flags)
{
	void *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*address = (uintptr_t)at;
	return at == MAP_FAILED ? FAKE_OUT_OF_MEMORY : 0;
}

FAKE_EXPORT CUresult cuMemAddressFree(CUdeviceptr address, size_t size)
{
	return munmap((void *)address, size) ? FAKE_INVALID_VALUE : 0;
}

FAKE_EXPORT CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
			      unsigned long long flags)
{
	if (mmap((void *)address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, handle, offset) == MAP_FAILED)
		return FAKE_INVALID_VALUE;
	add_allocation(address, size, NULL);
	return 0;
}

/*
 * Replaces the mapping by an inaccessible one in a single call. Otherwise malloc() in another thread could take the
 * address range.
 */
FAKE_EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t size)
{
	struct allocation *a = remove_allocation(address);

	if (!a)
		return FAKE_INVALID_VALUE;
	free(a);
	return mmap((void *)address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ?
		       FAKE_OUT_OF_MEMORY :
		       0;
}

FAKE_EXPORT CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *desc, size_t n)
{
	return valid(address, size) ? 0 : FAKE_INVALID_VALUE;
}
