/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA device, and the functions of struct gpubpf_device_ops that access its arena. */
#ifndef GPUBPF_BACKENDS_CUDA_DEVICE_ARENA_H
#define GPUBPF_BACKENDS_CUDA_DEVICE_ARENA_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/device.h"
#include "driver.h"

#define CUDA_PULLS 4             /* number of streams for copies from the device */

struct gpubpf_device {
	const struct cuda_driver *cu;
	CUdevice device;
	CUcontext context;
	bool primary; /* open_context() retained the context, and cuda_close() must release it */
	struct gpubpf_device_caps caps;
	/* the arena: exportable memory that outlives the process (handle), else ordinary device memory */
	char *host; /* the mirror: the arena's copy in host memory */
	CUdeviceptr arena;
	size_t arena_size, mapped; /* bytes of the arena; bytes mapped from `handle`, 0: ordinary memory */
	CUmemGenericAllocationHandle handle;
	CUstream from[CUDA_PULLS], to; /* streams for copies from and to the arena; threads that pull use different
					* streams */
	_Atomic(char *) zeros; /* zeros in pinned host memory, the source of cuda_arena_zero(); NULL before its first
				  * call */
	atomic_bool *pinned;   /* pieces of the mirror that are pinned, so that copies bypass the driver's
					 * buffer; or NULL */
	CUstream stream;       /* for the clock and our launches; cuda_device_enter() creates it */
	struct waiter *waiter; /* a thread that may still wait for the device after its caller's deadline, or NULL */
	CUmodule clock_module;
	CUfunction clock_kernel;
	CUdeviceptr clock_word; /* 8 bytes of device memory to which clock_kernel writes the time */
};

/* Calls cuda_enter() for the device's context; the first call also creates device->stream. Returns 0 or -EIO. */
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
