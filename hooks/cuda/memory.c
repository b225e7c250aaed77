/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application's memory: device memory is of the context that allocates it, and managed and page-locked memory of all
 * (one address space, CUDA Programming Guide, Unified Virtual Addressing). What another context may read as a peer is not
 * told to its probes, since nobody says whether it may.
 */
#include "cuda.h"

#define NEXT(symbol, ...) (cuda_next_init() && cuda_next.symbol ? cuda_next.symbol(__VA_ARGS__) : CUDA_ERROR_NOT_FOUND)

static CUresult in_context(CUdeviceptr address, size_t size)
{
	CUcontext context = NULL;

	if (!cuda_next.cuCtxGetCurrent(&context) && context)
		gpubpf_allocation_add(context, false, &(struct gpubpf_allocation){ address, size, GPUBPF_ALLOCATION_DEVICE,
										   gpubpf_allocation_number() });
	return 0;
}

/* It goes with the context that made it all the same. */
static CUresult in_all(const void *memory, size_t size, enum gpubpf_allocation_kind kind)
{
	CUcontext context = NULL;

	cuda_next.cuCtxGetCurrent(&context);
	gpubpf_allocation_add(context, true, &(struct gpubpf_allocation){ (uintptr_t)memory, size, kind,
									  gpubpf_allocation_number() });
	return 0;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
	CUresult error = NEXT(cuMemAlloc_v2, address, size);

	return error ? error : in_context(*address, size);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
	CUresult error = NEXT(cuMemAllocPitch_v2, address, pitch, width, height, element);

	return error ? error : in_context(*address, *pitch * height);
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned flags)
{
	CUresult error = NEXT(cuMemAllocManaged, address, size, flags);

	return error ? error : in_all((void *)(uintptr_t)*address, size, GPUBPF_ALLOCATION_MANAGED);
}

CUresult cuMemAllocHost_v2(void **memory, size_t size)
{
	CUresult error = NEXT(cuMemAllocHost_v2, memory, size);

	return error ? error : in_all(*memory, size, GPUBPF_ALLOCATION_HOST);
}

CUresult cuMemHostAlloc(void **memory, size_t size, unsigned flags)
{
	CUresult error = NEXT(cuMemHostAlloc, memory, size, flags);

	return error ? error : in_all(*memory, size, GPUBPF_ALLOCATION_HOST);
}

CUresult cuMemHostRegister_v2(void *memory, size_t size, unsigned flags)
{
	CUresult error = NEXT(cuMemHostRegister_v2, memory, size, flags);

	return error ? error : in_all(memory, size, GPUBPF_ALLOCATION_HOST);
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream)
{
	CUresult error = NEXT(cuMemAllocAsync, address, size, stream);

	return error ? error : in_context(*address, size);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t size, CUstream stream)
{
	CUresult error = NEXT(cuMemAllocAsync_ptsz, address, size, stream);

	return error ? error : in_context(*address, size);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, void *pool, CUstream stream)
{
	CUresult error = NEXT(cuMemAllocFromPoolAsync, address, size, pool, stream);

	return error ? error : in_context(*address, size);
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t size, void *pool, CUstream stream)
{
	CUresult error = NEXT(cuMemAllocFromPoolAsync_ptsz, address, size, pool, stream);

	return error ? error : in_context(*address, size);
}

/* Memory that was mapped to addresses can be read from now on, or no longer. */
CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t n)
{
	CUresult error = NEXT(cuMemSetAccess, address, size, access, n);

	if (error || !n)
		return error;
	gpubpf_allocation_cut(address, size);
	return access->flags ? in_context(address, size) : 0;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
	gpubpf_allocation_remove(address);
	return NEXT(cuMemFree_v2, address);
}

CUresult cuMemFreeHost(void *memory)
{
	gpubpf_allocation_remove((uintptr_t)memory);
	return NEXT(cuMemFreeHost, memory);
}

CUresult cuMemHostUnregister(void *memory)
{
	gpubpf_allocation_remove((uintptr_t)memory);
	return NEXT(cuMemHostUnregister, memory);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	gpubpf_allocation_remove(address);
	return NEXT(cuMemFreeAsync, address, stream);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream)
{
	gpubpf_allocation_remove(address);
	return NEXT(cuMemFreeAsync_ptsz, address, stream);
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size)
{
	gpubpf_allocation_cut(address, size);
	return NEXT(cuMemUnmap, address, size);
}
