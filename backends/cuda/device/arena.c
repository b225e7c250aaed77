/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manages the arena (the memory of all maps) in a CUDA device's memory. Copies run on separate streams and use only the
 * device's copy engines, so copies and the application's GPU kernels do not wait for each other. To fill device memory
 * or to copy within a device, the driver would launch GPU kernels. A persistent GPU kernel of the application would
 * delay them. So this code zeroes the arena by copies from a host buffer of zeros. The bus transfers in both directions
 * at once. One stream copies to the device. Several streams copy from the device, and each thread uses one of them.
 *
 */
#include "arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/wire/placement.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* linux/mman.h */
#endif
#define PIECE_BYTES (4ull << 20) /* the mirror is populated and pinned in pieces of this size */
#define MIN_PINNED_COPY_BYTES (256ull << 10) /* smaller copies are faster without pinning */
#define ZEROS_BYTES (4ull << 20)

static size_t round_to_granularity(struct gpubpf_device *device, const CUmemAllocationProp *prop, size_t size)
{
	size_t step = 0;

	return device->cu->mem_granularity(&step, prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) || !step ?
		       0 :
		       (size + step - 1) / step * step;
}

/*
 * Reserves an address range of `room` bytes and maps the memory of device->handle there. Releases the handle if this
 * fails.
 */
static CUresult map_memory(struct gpubpf_device *device, size_t room)
{
	const struct cuda_driver *cu = device->cu;
	CUmemAccessDesc access = { { CU_MEM_LOCATION_TYPE_DEVICE, device->device }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUresult error = cu->mem_reserve(&device->arena, room, 0, 0, 0);

	if (error)
		goto release;
	error = cu->mem_map(device->arena, room, 0, device->handle, 0);
	if (error)
		goto unreserve;
	error = cu->mem_access(device->arena, room, &access, 1);
	if (error)
		goto unmap;
	device->mapped = room;
	return 0;
unmap:
	cu->mem_unmap(device->arena, room);
unreserve:
	cu->mem_unreserve(device->arena, room);
release:
	cu->mem_release(device->handle);
	device->arena = 0;
	return error;
}

/*
 * Allocates memory that another process can import. The memory outlives this process and survives a fault of its GPU
 * kernels.
 */
static CUresult alloc_exportable(struct gpubpf_device *device, size_t size)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, device->device },
	};
	size_t room = round_to_granularity(device, &prop, size);
	CUresult error = room ? device->cu->mem_create(&device->handle, room, &prop, 0) : 1;

	return error ? error : map_memory(device, room);
}

static CUresult make_streams(struct gpubpf_device *device)
{
	CUresult error = 0;

	for (unsigned i = 0; i < CUDA_PULLS && !error; i++)
		error = device->from[i] ? 0 : device->cu->stream_create(&device->from[i], CU_STREAM_NON_BLOCKING);
	return error || device->to ? error : device->cu->stream_create(&device->to, CU_STREAM_NON_BLOCKING);
}

/*
 * Returns true if the memory fits. If the driver does not report free memory, returns true too; the allocation then
 * decides.
 */
static bool has_free_memory(struct gpubpf_device *device, size_t size, struct gpubpf_reason *why)
{
	size_t free, all;

	return device->cu->mem_info(&free, &all) || gpubpf_placement_fits(size, free, false, why->text, sizeof(why->text));
}

int cuda_arena_attach(struct gpubpf_device *device, void *host, size_t size, uint64_t *address, struct gpubpf_reason *why)
{
	const struct cuda_driver *cu = device->cu;
	CUresult error;
	int mode;

	if (device->arena)
		return -EBUSY;
	if (cuda_device_enter_or_explain(device, &mode, why) < 0)
		return -EIO;
	if (!has_free_memory(device, size, why)) {
		cuda_leave(cu, &mode);
		return -ENOMEM;
	}
	error = make_streams(device);
	if (!error)
		error = alloc_exportable(device, size);
	if (error && device->to)
		error = cu->mem_alloc(&device->arena, size);
	cuda_leave(cu, &mode);
	if (error)
		return cuda_fail(cu, why, "cannot allocate device memory for maps", error);
	device->host = host;
	device->arena_size = size;
	device->pinned = calloc(size / PIECE_BYTES + 1, sizeof(*device->pinned));
	*address = device->arena;
	return 0;
}

static bool is_outside(const struct gpubpf_device *device, size_t offset, size_t size)
{
	return offset > device->arena_size || size > device->arena_size - offset;
}

/*
 * Pins the piece of the mirror that contains offset `at`, unless the copy of `size` bytes is small. The calling thread
 * first populates the pages of the piece. Several threads can do this at once: four threads populate 5.5 GB/s on an
 * H200's host. If the driver had to populate the pages while it pins them, it would do so for one piece after the
 * other, at 1.8 GB/s.
 */
static void pin_piece(struct gpubpf_device *device, size_t at, size_t size)
{
	size_t piece = at / PIECE_BYTES, begin = piece * PIECE_BYTES, left = device->arena_size - begin;

	left = left < PIECE_BYTES ? left : PIECE_BYTES;
	if (size < MIN_PINNED_COPY_BYTES || !device->pinned || atomic_exchange(&device->pinned[piece], true))
		return;
	/* Linux before 5.14 refuses this advice; host_register() then populates the pages */
	madvise(device->host + begin, left, MADV_POPULATE_WRITE);
	if (device->cu->host_register(device->host + begin, left, 0))
		atomic_store(&device->pinned[piece], false);
}

void cuda_mirror_prepare(struct gpubpf_device *device, size_t offset, size_t size)
{
	size_t end = offset + size;
	int mode;

	if (is_outside(device, offset, size) || cuda_device_enter(device, &mode) < 0)
		return;
	for (size_t at = offset / PIECE_BYTES * PIECE_BYTES; at < end; at += PIECE_BYTES)
		pin_piece(device, at, PIECE_BYTES);
	cuda_leave(device->cu, &mode);
}

/*
 * Returns the calling thread's stream for copies from the device. A thread that waits for its stream also waits for
 * copies that other threads queued there; several streams make this rarer.
 */
static CUstream pull_stream(const struct gpubpf_device *device)
{
	static atomic_uint threads;
	static _Thread_local unsigned number;

	if (!number)
		number = atomic_fetch_add(&threads, 1) % CUDA_PULLS + 1;
	return device->from[number - 1];
}

/*
 * Copies from the arena to the mirror, its copy in host memory. Each copy stays within one piece of the mirror, because
 * a copy must not mix pinned and unpinned memory.
 */
static CUresult pull_pieces(struct gpubpf_device *device, size_t offset, size_t at, size_t size)
{
	CUresult error = 0;

	while (size && !error) {
		size_t n = PIECE_BYTES - at % PIECE_BYTES;

		n = n < size ? n : size;
		pin_piece(device, at, n);
		error = device->cu->copy_from(device->host + at, device->arena + offset, n, pull_stream(device));
		offset += n;
		at += n;
		size -= n;
	}
	return error;
}

/*
 * Enters the device's context and calls `how` for a range of the arena. `host` is the address in host memory from or to
 * which `how` copies.
 */
static int copy(struct gpubpf_device *device, size_t offset, uintptr_t host, size_t size,
		CUresult (*how)(struct gpubpf_device *device, size_t offset, uintptr_t host, size_t size))
{
	CUresult error;
	int mode;

	if (is_outside(device, offset, size))
		return -EINVAL;
	if (cuda_device_enter(device, &mode) < 0)
		return -EIO;
	error = how(device, offset, host, size);
	cuda_leave(device->cu, &mode);
	return error ? -EIO : 0;
}

static CUresult pull(struct gpubpf_device *device, size_t offset, uintptr_t host, size_t size)
{
	uintptr_t at = host - (uintptr_t)device->host;

	if (is_outside(device, at, size))
		return device->cu->copy_from((void *)host, device->arena + offset, size, pull_stream(device));
	return pull_pieces(device, offset, at, size);
}

static CUresult push(struct gpubpf_device *device, size_t offset, uintptr_t host, size_t size)
{
	return device->cu->copy_to(device->arena + offset, (const void *)host, size, device->to);
}

int cuda_arena_pull(struct gpubpf_device *device, size_t offset, void *to, size_t size)
{
	return copy(device, offset, (uintptr_t)to, size, pull);
}

int cuda_arena_push(struct gpubpf_device *device, size_t offset, const void *from, size_t size)
{
	return copy(device, offset, (uintptr_t)from, size, push);
}

/* Allocates device->zeros. Several threads may call the function at once, so it sets the pointer only after it has
 * zeroed the memory. */
static CUresult make_zeros(struct gpubpf_device *device)
{
	char *zeros = NULL, *none = NULL;
	CUresult error = device->cu->host_alloc((void **)&zeros, ZEROS_BYTES, 0);

	if (error)
		return error;
	memset(zeros, 0, ZEROS_BYTES);
	if (!atomic_compare_exchange_strong(&device->zeros, &none, zeros))
		device->cu->host_free(zeros);
	return 0;
}

static CUresult zero(struct gpubpf_device *device, size_t offset, uintptr_t host, size_t size)
{
	CUresult error = atomic_load(&device->zeros) ? 0 : make_zeros(device);

	while (size && !error) {
		size_t n = size < ZEROS_BYTES ? size : ZEROS_BYTES;

		error = device->cu->copy_to(device->arena + offset, atomic_load(&device->zeros), n, device->to);
		offset += n;
		size -= n;
	}
	return error;
}

int cuda_arena_zero(struct gpubpf_device *device, size_t offset, size_t size)
{
	return copy(device, offset, 0, size, zero);
}

static CUresult wait_for(struct gpubpf_device *device, CUstream stream)
{
	return stream ? device->cu->stream_synchronize(stream) : 0;
}

/* Waits for every stream, even if one fails, because the caller frees the memory next. */
static CUresult wait_for_all(struct gpubpf_device *device)
{
	CUresult error = wait_for(device, device->to), other;

	for (unsigned i = 0; i < CUDA_PULLS; i++) {
		other = wait_for(device, device->from[i]);
		error = error ? error : other;
	}
	return error;
}

int cuda_arena_wait(struct gpubpf_device *device, bool all)
{
	CUresult error;
	int mode;

	if (cuda_device_enter(device, &mode) < 0)
		return -EIO;
	error = all ? wait_for_all(device) : wait_for(device, pull_stream(device));
	cuda_leave(device->cu, &mode);
	return error ? -EIO : 0;
}

static void free_host(struct gpubpf_device *device)
{
	for (size_t i = 0; device->pinned && i <= device->arena_size / PIECE_BYTES; i++)
		if (device->pinned[i])
			device->cu->host_unregister(device->host + i * PIECE_BYTES);
	if (device->zeros)
		device->cu->host_free(device->zeros);
	free(device->pinned);
	device->pinned = NULL;
	device->zeros = NULL;
}

void cuda_arena_detach(struct gpubpf_device *device)
{
	const struct cuda_driver *cu = device->cu;
	int mode;

	if (!device->arena || cuda_device_enter(device, &mode) < 0)
		return;
	wait_for_all(device);
	free_host(device);
	if (device->mapped) {
		cu->mem_unmap(device->arena, device->mapped);
		cu->mem_unreserve(device->arena, device->mapped);
		cu->mem_release(device->handle);
	} else {
		cu->mem_free(device->arena);
	}
	cuda_leave(device->cu, &mode);
	device->arena = 0;
	device->mapped = 0;
}

int cuda_arena_export(struct gpubpf_device *device, int *fd)
{
	CUresult error;
	int mode;

	if (!device->mapped)
		return -EOPNOTSUPP;
	if (cuda_device_enter(device, &mode) < 0)
		return -EIO;
	error = device->cu->mem_export(fd, device->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	cuda_leave(device->cu, &mode);
	return error ? -EIO : 0;
}

static CUresult import(struct gpubpf_device *device, int fd, size_t size, bool *other_device)
{
	const struct cuda_driver *cu = device->cu;
	CUmemAllocationProp prop;
	CUresult error = cu->mem_import(&device->handle, (void *)(uintptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);

	if (error)
		return error;
	error = cu->mem_properties(&prop, device->handle);
	*other_device = !error && prop.location.id != device->device;
	if (!error && !*other_device)
		return map_memory(device, round_to_granularity(device, &prop, size));
	cu->mem_release(device->handle);
	return error;
}

int cuda_arena_adopt(struct gpubpf_device *device, int fd, void *host, size_t size, struct gpubpf_reason *why)
{
	bool other_device = false;
	CUresult error;
	int mode;

	if (device->arena)
		return -EBUSY;
	if (cuda_device_enter_or_explain(device, &mode, why) < 0)
		return -EIO;
	error = make_streams(device);
	if (!error)
		error = import(device, fd, size, &other_device);
	cuda_leave(device->cu, &mode);
	if (error)
		return cuda_fail(device->cu, why, "cannot import the maps of another process", error);
	if (other_device)
		return -EXDEV;
	device->host = host;
	device->arena_size = size;
	return 0;
}
