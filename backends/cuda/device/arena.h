/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA device, and the functions of struct gpubpf_device_ops that access its arena. */
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
	bool primary;            /* we retained the context and must release it */
	struct gpubpf_device_caps caps;
	/* the arena: exportable memory that outlives the process (handle), else ordinary device memory */
	char *host;
	CUdeviceptr arena;
	size_t arena_size, mapped;
	CUmemGenericAllocationHandle handle;
	CUstream from[CUDA_PULLS], to; /* streams for copies from and to the arena; threads that pull use different
					* streams */
	_Atomic(char *) zeros;   /* pinned */
	atomic_bool *pinned;            /* pieces of the mirror that are pinned, so that copies bypass the driver's
					 * buffer; or NULL */
	CUstream stream;         /* for the clock and our launches; created with the first */
	struct waiter *waiter;   /* a waiter whose deadline passed before the device was idle */
	CUmodule clock_module;
	CUfunction clock_kernel;
	CUdeviceptr clock_word;
};

/* Calls cuda_enter() for the device's context and creates its stream. Returns 0 or -EIO. */
int cuda_device_enter(struct gpubpf_device *device, int *mode);
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
