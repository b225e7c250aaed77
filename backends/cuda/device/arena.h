/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA device, and the part of struct gpubpf_device_ops that is about its arena. */
#ifndef GPUBPF_BACKENDS_CUDA_DEVICE_ARENA_H
#define GPUBPF_BACKENDS_CUDA_DEVICE_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/device.h"
#include "driver.h"

#define CUDA_PULLS 4             /* streams */

struct gpubpf_device {
	const struct cuda_driver *cu;
	CUdevice device;
	CUcontext context;
	bool primary;            /* context is ours to release */
	struct gpubpf_device_caps caps;
	/* the arena; made exportable so that it outlives the process (handle), else plain memory */
	char *host;
	CUdeviceptr arena;
	size_t arena_size, mapped;
	CUmemGenericAllocationHandle handle;
	CUstream from[CUDA_PULLS], to; /* the arena's copies, each way: what different threads pull goes by different streams */
	_Atomic(char *) zeros;   /* pinned */
	atomic_bool *pinned;            /* pieces of the mirror, for copies without the driver's help; NULL: none */
	CUstream stream;         /* for the clock and launches of our own; made with the first */
	struct waiter *waiter;   /* whose time was over before the device was still */
	CUmodule clock_module;
	CUfunction clock_kernel;
	CUdeviceptr clock_word;
};

/* cuda_enter() of its context, in which it has a stream of its own. 0 or -EIO. */
int cuda_device_enter(struct gpubpf_device *device, int *mode);
/* "WHAT: CUDA_ERROR_..." and -EIO. */
int cuda_fail(const struct cuda_driver *cu, struct gpubpf_why *why, const char *what, CUresult error);

int cuda_arena_attach(struct gpubpf_device *device, void *host, size_t size, uint64_t *address, struct gpubpf_why *why);
int cuda_arena_pull(struct gpubpf_device *device, size_t offset, void *to, size_t size);
int cuda_arena_push(struct gpubpf_device *device, size_t offset, const void *from, size_t size);
int cuda_arena_zero(struct gpubpf_device *device, size_t offset, size_t size);
void cuda_mirror_prepare(struct gpubpf_device *device, size_t offset, size_t size);
int cuda_arena_wait(struct gpubpf_device *device, bool all);
void cuda_arena_detach(struct gpubpf_device *device);
int cuda_arena_export(struct gpubpf_device *device, int *fd);
int cuda_arena_adopt(struct gpubpf_device *device, int fd, void *host, size_t size, struct gpubpf_why *why);

#endif
