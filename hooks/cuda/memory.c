/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application's memory. Device memory belongs to the context that allocates it. Managed and page-locked memory
 * belongs to all contexts (one address space, CUDA Programming Guide, Unified Virtual Addressing). The agent cannot
 * determine whether a context may access memory of another context (peer access). Therefore it does not report such
 * access.
 */
#include "cuda.h"

/* A call that allocates `n` bytes and stores their address in *at. */
#define ALLOC(symbol, arguments, n, at, ...) \
	CUDA_HOST_CALL_THEN(ALLOC, symbol, arguments, host_call.pointer = result ? 0 : (uintptr_t)*(at), .bytes = (n), ##__VA_ARGS__)
#define FREE(symbol, arguments, at, ...) CUDA_HOST_CALL(FREE, symbol, arguments, .pointer = (uintptr_t)(at), ##__VA_ARGS__)
#define IN_STREAM .stream = (uintptr_t)stream

#define NAMED_STREAMS 2 /* streams up to CU_STREAM_PER_THREAD (2) are special streams of the current context */
#define WRITE_COMBINED 4 /* CU_MEMHOSTALLOC_WRITECOMBINED */
#define REGISTER_IO 4 /* CU_MEMHOSTREGISTER_IOMEMORY */
#define ORDINAL 9 /* CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL */

static CUcontext current_context(void)
{
	CUcontext context = NULL;

	return cuda_next.cuCtxGetCurrent(&context) ? NULL : context;
}

static CUresult add_to_context(CUcontext context, CUdeviceptr address, size_t size)
{
	if (context)
		gpubpf_allocation_add(context, false,
				      &(struct gpubpf_allocation){ address, size, GPUBPF_ALLOCATION_DEVICE,
								   gpubpf_allocation_number(), gpubpf_allocation_stack() });
	return 0;
}

static CUresult add_to_current(CUdeviceptr address, size_t size)
{
	return add_to_context(current_context(), address, size);
}

/* Record memory that all contexts can access. The record is removed when the current context is destroyed. */
static CUresult add_to_all(const void *memory, size_t size, enum gpubpf_allocation_kind kind)
{
	gpubpf_allocation_add(current_context(), true,
			      &(struct gpubpf_allocation){ (uintptr_t)memory, size, kind, gpubpf_allocation_number(),
							   gpubpf_allocation_stack() });
	return 0;
}

/*
 * Record host memory only if its device address equals its host address. The addresses may differ (Unified Addressing,
 * exceptional disjoint addressing).
 */
static CUresult add_if_same_address(void *memory, size_t size)
{
	CUdeviceptr seen = 0;

	if (!cuda_next.cuMemHostGetDevicePointer || cuda_next.cuMemHostGetDevicePointer(&seen, memory, 0) ||
	    seen != (uintptr_t)memory)
		return 0;
	return add_to_all(memory, size, GPUBPF_ALLOCATION_HOST);
}

/*
 * Record memory that is allocated in stream order. During a stream capture nothing is recorded, because the memory
 * exists only while the graph runs.
 */
static CUresult add_in_stream(CUdeviceptr address, size_t size, CUstream stream, CUresult (*capturing)(CUstream, int *),
			      bool pool)
{
	CUcontext context = NULL;
	CUgreenCtx green = NULL;
	CUdevice device = -1;
	int status = 0, ordinal = -2;

	if (!capturing || capturing(stream, &status) || status)
		return 0;
	if ((uintptr_t)stream > NAMED_STREAMS && cuda_next.cuStreamGetCtx &&
	    (cuda_next.cuStreamGetCtx(stream, &context, &green) || green))
		context = NULL;
	if (!context)
		context = current_context();
	/*
	 * Do not record memory from a pool on another device: the stream's device may not be able to access that
	 * memory.
	 */
	if (pool && (context != current_context() || cuda_direct.ctx_device(&device) || !cuda_next.cuPointerGetAttribute ||
		     cuda_next.cuPointerGetAttribute(&ordinal, ORDINAL, address) || ordinal != device))
		return 0;
	return add_to_context(context, address, size);
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
	CUresult error = ALLOC(cuMemAlloc_v2, (address, size), size, address);

	return error ? error : add_to_current(*address, size);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
	CUresult error = ALLOC(cuMemAllocPitch_v2, (address, pitch, width, height, element), width * height, address);

	return error ? error : add_to_current(*address, *pitch * height);
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned flags)
{
	CUresult error = ALLOC(cuMemAllocManaged, (address, size, flags), size, address);

	return error ? error : add_to_all((void *)(uintptr_t)*address, size, GPUBPF_ALLOCATION_MANAGED);
}

CUresult cuMemAllocHost_v2(void **memory, size_t size)
{
	CUresult error = ALLOC(cuMemAllocHost_v2, (memory, size), size, memory);

	return error ? error : add_to_all(*memory, size, GPUBPF_ALLOCATION_HOST);
}

CUresult cuMemHostAlloc(void **memory, size_t size, unsigned flags)
{
	CUresult error = ALLOC(cuMemHostAlloc, (memory, size, flags), size, memory);

	if (error || flags & WRITE_COMBINED)
		return error ? error : add_if_same_address(*memory, size);
	return add_to_all(*memory, size, GPUBPF_ALLOCATION_HOST);
}

CUresult cuMemHostRegister_v2(void *memory, size_t size, unsigned flags)
{
	CUresult error = CUDA_HOST_CALL(ALLOC, cuMemHostRegister_v2, (memory, size, flags), .bytes = size,
					.pointer = (uintptr_t)memory);

	/* do not record registers of another device (REGISTER_IO): reading them has side effects */
	return error || flags & REGISTER_IO ? error : add_if_same_address(memory, size);
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream)
{
	CUresult error = ALLOC(cuMemAllocAsync, (address, size, stream), size, address, IN_STREAM);

	return error ? error : add_in_stream(*address, size, stream, cuda_next.cuStreamIsCapturing, false);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t size, CUstream stream)
{
	CUresult error = ALLOC(cuMemAllocAsync_ptsz, (address, size, stream), size, address, IN_STREAM);

	return error ? error : add_in_stream(*address, size, stream, cuda_next.cuStreamIsCapturing_ptsz, false);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, void *pool, CUstream stream)
{
	CUresult error = ALLOC(cuMemAllocFromPoolAsync, (address, size, pool, stream), size, address, IN_STREAM);

	return error ? error : add_in_stream(*address, size, stream, cuda_next.cuStreamIsCapturing, true);
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t size, void *pool, CUstream stream)
{
	CUresult error = ALLOC(cuMemAllocFromPoolAsync_ptsz, (address, size, pool, stream), size, address, IN_STREAM);

	return error ? error : add_in_stream(*address, size, stream, cuda_next.cuStreamIsCapturing_ptsz, true);
}

/*
 * Record that a device gains or loses access to mapped addresses, but only for the current context's device. The agent
 * does not know the contexts of other devices.
 */
CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t n)
{
	bool has_current = false, none = false;
	CUdevice device = -1;
	CUresult error;

	if (cuda_next_init() && cuda_direct.ctx_device(&device))
		device = -1;
	for (size_t i = 0; access && i < n; i++) {
		has_current |= access[i].flags && access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
			       access[i].location.id == device;
		none |= !access[i].flags;
	}
	if (none)
		gpubpf_allocation_cut(address, size);
	error = CUDA_NEXT(cuMemSetAccess, (address, size, access, n));
	if (error || !has_current)
		return error;
	gpubpf_allocation_cut(address, size);
	return add_to_current(address, size);
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
	gpubpf_allocation_remove(address);
	return FREE(cuMemFree_v2, (address), address);
}

CUresult cuMemFreeHost(void *memory)
{
	gpubpf_allocation_remove((uintptr_t)memory);
	return FREE(cuMemFreeHost, (memory), memory);
}

CUresult cuMemHostUnregister(void *memory)
{
	gpubpf_allocation_remove((uintptr_t)memory);
	return FREE(cuMemHostUnregister, (memory), memory);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	gpubpf_allocation_remove(address);
	return FREE(cuMemFreeAsync, (address, stream), address, IN_STREAM);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream)
{
	gpubpf_allocation_remove(address);
	return FREE(cuMemFreeAsync_ptsz, (address, stream), address, IN_STREAM);
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t at, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	return CUDA_HOST_CALL(ALLOC, cuMemMap, (address, size, at, handle, flags), .bytes = size, .pointer = address);
}

CUresult cuMemUnmap(CUdeviceptr address, size_t size)
{
	gpubpf_allocation_cut(address, size);
	return FREE(cuMemUnmap, (address, size), address, .bytes = size);
}
