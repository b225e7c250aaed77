/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application's memory. Device memory belongs to its device. Managed and page-locked memory belongs to all devices,
 * which access it at the same address (HIP programming guide, unified virtual addressing). The agent does not report
 * that a device can access memory of another device (peer access).
 */
#include "hip.h"

/* A call that allocates `n` bytes and stores their address in *memory. */
#define ALLOC(call, arguments, n, ...) \
	HIP_HOST_CALL_THEN(ALLOC, call, arguments, host_call.pointer = result ? 0 : (uintptr_t)*memory, .bytes = (n), ##__VA_ARGS__)
#define FREE(call, arguments, ...) HIP_HOST_CALL(FREE, call, arguments, .pointer = (uintptr_t)memory, ##__VA_ARGS__)
#define IN_STREAM .stream = (uintptr_t)stream

static const void *current_device_key(void)
{
	int device = 0;

	return hip_direct.get_device(&device) ? NULL : hip_device_key(device);
}

/* Clear the error of the agent's own query. It must not become the application's last error. */
static hipError_t clear_own_error(bool clean, hipError_t error)
{
	if (error && clean)
		hip_direct.last_error();
	return error;
}

static bool has_no_error(void)
{
	return !hip_direct.peek_error();
}

static hipError_t add_allocation(hipError_t error, void *const *memory, size_t size, enum gpubpf_allocation_kind kind)
{
	const void *device = error || !hip_active() ? NULL : current_device_key();

	if (device)
		gpubpf_allocation_add(device, kind != GPUBPF_ALLOCATION_DEVICE,
				      &(struct gpubpf_allocation){ (uintptr_t)*memory, size, kind,
								   gpubpf_allocation_number(), gpubpf_allocation_stack() });
	return error;
}

/* Record the memory if its device address equals its host address. */
static hipError_t add_if_same_address(hipError_t error, void *memory, size_t size)
{
	bool clean = !error && hip_active() && has_no_error();
	void *seen = NULL;

	if (error || !hip_active() || !hip_next.device_pointer ||
	    clear_own_error(clean, hip_next.device_pointer(&seen, memory, 0)) || seen != memory)
		return error;
	return add_allocation(0, &memory, size, GPUBPF_ALLOCATION_HOST);
}

/*
 * Record memory that is allocated in stream order. During a stream capture nothing is recorded, because the memory does
 * not exist before the graph runs.
 */
static hipError_t add_in_stream(hipError_t error, void *const *memory, size_t size, hipStream_t stream)
{
	bool clean = !error && hip_active() && has_no_error();
	int status = 0;

	if (error || !hip_active() || !hip_next.stream_capturing ||
	    clear_own_error(clean, hip_next.stream_capturing(stream, &status)) || status)
		return error;
	if ((uintptr_t)stream > 2 &&
	    (!hip_next.stream_device || hip_device_key(hip_next.stream_device(stream)) != current_device_key()))
		return 0;
	return add_allocation(0, memory, size, GPUBPF_ALLOCATION_DEVICE);
}

hipError_t hipMalloc(void **memory, size_t size)
{
	return add_allocation(ALLOC(hipMalloc, (memory, size), size), memory, size, GPUBPF_ALLOCATION_DEVICE);
}

hipError_t hipExtMallocWithFlags(void **memory, size_t size, unsigned flags)
{
	return add_allocation(ALLOC(hipExtMallocWithFlags, (memory, size, flags), size), memory, size,
			      GPUBPF_ALLOCATION_DEVICE);
}

hipError_t hipMallocPitch(void **memory, size_t *pitch, size_t width, size_t height)
{
	hipError_t error = ALLOC(hipMallocPitch, (memory, pitch, width, height), width * height);

	return error ? error : add_allocation(0, memory, *pitch * height, GPUBPF_ALLOCATION_DEVICE);
}

hipError_t hipMallocManaged(void **memory, size_t size, unsigned flags)
{
	return add_allocation(ALLOC(hipMallocManaged, (memory, size, flags), size), memory, size,
			      GPUBPF_ALLOCATION_MANAGED);
}

hipError_t hipHostMalloc(void **memory, size_t size, unsigned flags)
{
	hipError_t error = ALLOC(hipHostMalloc, (memory, size, flags), size);

	return error ? error : add_if_same_address(0, *memory, size);
}

hipError_t hipHostAlloc(void **memory, size_t size, unsigned flags)
{
	hipError_t error = ALLOC(hipHostAlloc, (memory, size, flags), size);

	return error ? error : add_if_same_address(0, *memory, size);
}

hipError_t hipMallocHost(void **memory, size_t size)
{
	hipError_t error = ALLOC(hipMallocHost, (memory, size), size);

	return error ? error : add_if_same_address(0, *memory, size);
}

hipError_t hipHostRegister(void *memory, size_t size, unsigned flags)
{
	return add_if_same_address(HIP_HOST_CALL(ALLOC, hipHostRegister, (memory, size, flags), .bytes = size,
						 .pointer = (uintptr_t)memory),
				   memory, size);
}

hipError_t hipMallocAsync(void **memory, size_t size, hipStream_t stream)
{
	return add_in_stream(ALLOC(hipMallocAsync, (memory, size, stream), size, IN_STREAM), memory, size, stream);
}

/*
 * Remove the record before the runtime frees the memory. After the free, another thread may get the same address at
 * once.
 */

hipError_t hipFree(void *memory)
{
	gpubpf_allocation_remove((uintptr_t)memory);
	return FREE(hipFree, (memory));
}

hipError_t hipHostFree(void *memory)
{
	gpubpf_allocation_remove((uintptr_t)memory);
	return FREE(hipHostFree, (memory));
}

hipError_t hipFreeHost(void *memory)
{
	gpubpf_allocation_remove((uintptr_t)memory);
	return FREE(hipFreeHost, (memory));
}

hipError_t hipHostUnregister(void *memory)
{
	gpubpf_allocation_remove((uintptr_t)memory);
	return FREE(hipHostUnregister, (memory));
}

hipError_t hipFreeAsync(void *memory, hipStream_t stream)
{
	gpubpf_allocation_remove((uintptr_t)memory);
	return FREE(hipFreeAsync, (memory, stream), IN_STREAM);
}
