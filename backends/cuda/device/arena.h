/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a CUDA device, and declares the functions of struct gpubpf_device_ops that access its arena. */
#ifndef GPUBPF_BACKENDS_CUDA_DEVICE_ARENA_H
#define GPUBPF_BACKENDS_CUDA_DEVICE_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/device.h"
#include "driver.h"

#define CUDA_PULLS 4             /* number of streams that copy from the device */

struct gpubpf_device {
	const struct cuda_driver *cu;
	CUdevice device;
	CUcontext context;
	bool primary; /* open_context() retained the primary context, so cuda_close() must release it */
	struct gpubpf_device_caps caps;
	/* The arena is exportable memory (`handle`), which outlives the process, or else ordinary device memory. */
	char *host; /* the mirror: the copy of the arena in host memory */
	CUdeviceptr arena;
	/* arena_size: bytes of the arena. mapped: bytes mapped from `handle`, or 0 for ordinary device memory. */
	size_t arena_size, mapped;
	CUmemGenericAllocationHandle handle;
	/*
	 * The streams `from` copy from the arena, and each thread that pulls uses one of them. The stream `to` copies
	 * to the arena.
	 */
	CUstream from[CUDA_PULLS], to;
	/* zeros in pinned host memory, from which cuda_arena_zero() copies; NULL before its first call */
	_Atomic(char *) zeros;
	/*
	 * for each piece of the mirror: true if it is pinned, so that copies bypass the driver's staging buffer. NULL:
	 * nothing is pinned.
	 */
	atomic_bool *pinned;
	CUstream stream; /* stream for the clock and for our launches; cuda_device_enter() creates it */
	/* thread that may still wait for the device although its caller's deadline has passed, or NULL */
	struct waiter *waiter;
	CUmodule clock_module;
	CUfunction clock_kernel;
	CUdeviceptr clock_word; /* address of 8 bytes of device memory, where clock_kernel stores the time */
};

/* Calls cuda_enter() for the device's context; the first call also creates device->stream. Returns 0 or -EIO. */
int cuda_device_enter(struct gpubpf_device *device, int *mode);
/* Like cuda_device_enter(), but writes the reason of a failure to `why`. */
int cuda_device_enter_or_explain(struct gpubpf_device *device, int *mode, struct gpubpf_reason *why);
/* Writes "WHAT: CUDA_ERROR_..." to `why` and returns -EIO. */
int cuda_fail(const struct cuda_driver *cu, struct gpubpf_reason *why, const char *what, CUresult error);

int cuda_arena_attach(struct gpubpf_device *device, void *host, size_t size, uint64_t *address, struct gpubpf_reason *why);
int cuda_arena_pull(struct gpubpf_device *device, size_t offset, void *to, size_t size);
int cuda_arena_push(struct gpubpf_device *device, size_t offset, const void *from, size_t size);
int cuda_arena_zero(struct gpubpf_device *device, size_t offset, size_t size);
void cuda_mirror_prepare(struct gpubpf_device *device, size_t offset, size_t size);
int cuda_arena_wait(struct gpubpf_device *device, bool all);
void cuda_arena_detach(struct gpubpf_device *device);
int cuda_arena_export(struct gpubpf_device *device, int *fd);
int cuda_arena_adopt(struct gpubpf_device *device, int fd, void *host, size_t size, struct gpubpf_reason *why);

#endif
