/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device: memory, modules and launches of one opened device, in the process that owns it. That is the application
 * through the agent, or the test tool. Each backend has one const table, built on libc and the vendor's runtime only.
 * Handles are opaque. Every operation returns 0 or -errno. `diag` is a buffer for a reason of one line. The agent's
 * adapters pass the application's own handles in struct gpubpf_device_open.
 */
#ifndef GPUBPF_CORE_DEVICE_H
#define GPUBPF_CORE_DEVICE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/caps.h"
#include "core/wire/placement.h"

struct gpubpf_device; /* one opened device (OpenCL: of one context) */
struct gpubpf_device_module;
struct gpubpf_device_kernel;

struct gpubpf_device_open {
	const char *name;       /* text that the device's or platform's name must contain, NULL: any (test tool) */
	uint32_t index;         /* index among the devices that match, from 0 (gpubpf device list) */
	void *runtime;          /* dispatch table of the next layer or driver, NULL: load the runtime (test tool) */
	void *context, *handle; /* the application's handles, NULL: create our own */
	/*
	 * Reads a variable of the user's environment that configures a runtime; NULL if it is not set. If this member
	 * is NULL, the device reads no variables.
	 */
	const char *(*variable)(const char *name);
	const char *cache; /* a folder of the user in which open() may cache code that it compiles; NULL: no
			        * cache */
};

struct gpubpf_reason {
	char text[240];
};

/* memory outside the arena, for one map */
struct gpubpf_device_memory {
	enum gpubpf_placement where;
	void *host;       /* its address in the host, valid also while kernels run */
	uint64_t address; /* its address in kernels */
	size_t size;
	void *handle; /* owned by the backend */
};

struct gpubpf_device_launch {
	uint32_t dim;
	size_t grid[3];  /* number of threads in each dimension, in all blocks */
	size_t block[3]; /* threads of a block in each dimension; 0: the runtime chooses */
	size_t offset[3];
	const void *const *args; /* one for each argument of the kernel */
	const size_t *arg_sizes;
	uint32_t nargs;
};

struct gpubpf_device_ops {
	const char *backend; /* "opencl" */

	/* Opens a device. May take milliseconds; never called on the launch path. */
	int (*open)(const struct gpubpf_device_open *how, struct gpubpf_device **device, struct gpubpf_reason *why);
	void (*close)(struct gpubpf_device *device);
	const struct gpubpf_device_caps *(*caps)(const struct gpubpf_device *device);

	/*
	 * Attaches an arena of `size` bytes to the device. `host` is the shared mapping of the memfd. With
	 * GPUBPF_CAP_SHARED_ARENA it becomes the device's memory. Otherwise the device allocates memory, with undefined
	 * content until arena_push or arena_zero. *address is the arena's address in twins. One arena per device.
	 */
	int (*arena_attach)(struct gpubpf_device *device, void *host, size_t size, uint64_t *address,
			    struct gpubpf_reason *why);
	/*
	 * Copies a range of the arena from or to the device; no effect on a shared arena. Waits for no kernel if the
	 * device can copy while one runs.
	 */
	int (*arena_pull)(struct gpubpf_device *device, size_t offset, void *to, size_t size);
	int (*arena_push)(struct gpubpf_device *device, size_t offset, const void *from, size_t size);
	/*
	 * Can a push start now without waiting for a kernel? Only for devices that cannot copy while a kernel runs.
	 * NULL: pushes never wait.
	 */
	bool (*quiet)(struct gpubpf_device *device);
	/* Fills a range of the arena on the device with zeros. NULL: the caller pushes zeros. */
	int (*arena_zero)(struct gpubpf_device *device, size_t offset, size_t size);
	/*
	 * Waits for the copies of the calling thread's pulls, and with `all` for all copies of all threads. arena_pull,
	 * arena_push and arena_zero may return before their copy is done. The pulls of one thread complete in call
	 * order, and so do its pushes and zeros. NULL: each copy is complete when its function returns.
	 */
	int (*arena_wait)(struct gpubpf_device *device, bool all);
	void (*arena_detach)(struct gpubpf_device *device);
	/*
	 * Allocates memory outside the arena for a map, of a kind that the capabilities include. `host` is the
	 * session's memory of that size, in whole pages. If gpubpf_placement_live() is true for the capabilities, this
	 * becomes the map's memory. Otherwise memory->host is other memory, with undefined content. Call it before
	 * arena_detach(). memory_get and memory_put are NULL if no capability includes such memory.
	 */
	int (*memory_get)(struct gpubpf_device *device, enum gpubpf_placement where, void *host, size_t size,
			  struct gpubpf_device_memory *memory, struct gpubpf_reason *why);
	void (*memory_put)(struct gpubpf_device *device, const struct gpubpf_device_memory *memory);
	/*
	 * Allocates and pins host memory for that range of the mirror, as far as possible, so that the first pull is as
	 * fast as later ones. Takes about a second per some GB. Several threads may call it at once, and concurrently
	 * with all other operations. NULL: it would save no time.
	 */
	void (*mirror_prepare)(struct gpubpf_device *device, size_t offset, size_t size);
	/*
	 * Returns a descriptor of the arena's memory, which keeps the memory beyond this process. -EOPNOTSUPP, or NULL:
	 * the device has no such memory.
	 */
	int (*arena_export)(struct gpubpf_device *device, int *fd);
	/*
	 * Replaces arena_attach in another process: the arena is the memory of descriptor fd, and arena_pull copies
	 * from it. -EXDEV: the memory belongs to another device. The caller still owns the descriptor.
	 */
	int (*arena_adopt)(struct gpubpf_device *device, int fd, void *host, size_t size, struct gpubpf_reason *why);
	/*
	 * Waits until all earlier launches have ended, so that the next pull sees their results. 0, -ETIMEDOUT, or -EIO
	 * if the device is broken. NULL: pulls wait, or the hooks follow each launch to its end.
	 */
	int (*settle)(struct gpubpf_device *device, uint32_t timeout_ms);

	/*
	 * Finds the address in kernels of the application's buffer (OpenCL: a cl_mem), which is constant for the
	 * buffer's life. Runs a kernel and waits for it. NULL: the application's handles are addresses.
	 */
	int (*buffer_address)(struct gpubpf_device *device, void *buffer, uint64_t *address);

	/*
	 * Loads a twin: pieces from the target, or the vendor binary from the builder. May take seconds if the vendor
	 * compiles.
	 */
	int (*module_load)(struct gpubpf_device *device, enum gpubpf_image_kind kind, const void *image, size_t size,
			   const char *options, struct gpubpf_device_module **module, struct gpubpf_reason *why);
	void (*module_unload)(struct gpubpf_device_module *module);
	int (*kernel_get)(struct gpubpf_device_module *module, const char *name, struct gpubpf_device_kernel **kernel,
			  struct gpubpf_reason *why);
	void (*kernel_put)(struct gpubpf_device_kernel *kernel);

	/* Launches a kernel and waits for its end (test tool, gpu/run). The agent's adapters enqueue twins directly. */
	int (*launch)(struct gpubpf_device_kernel *kernel, const struct gpubpf_device_launch *launch,
		      struct gpubpf_reason *why);
	/* Reads the device's clock, and CLOCK_MONOTONIC before and after, for calibration. -EOPNOTSUPP: no clock. */
	int (*clock)(struct gpubpf_device *device, uint64_t *cycles, uint64_t *before_ns, uint64_t *after_ns);
};

/*
 * Asserts that a table implements the operations that are not optional. gpubpf_device_check() covers those for running
 * programs, gpubpf_device_check_launch() those with which the test tool launches.
 */
static inline void gpubpf_device_check(const struct gpubpf_device_ops *d)
{
	assert(d->backend && d->open && d->close && d->caps && d->clock);
	assert(d->arena_attach && d->arena_pull && d->arena_push && d->arena_detach);
	assert(!d->arena_export == !d->arena_adopt && !d->memory_get == !d->memory_put);
}

static inline void gpubpf_device_check_launch(const struct gpubpf_device_ops *d)
{
	assert(d->module_load && d->module_unload && d->kernel_get && d->kernel_put && d->launch);
}

static inline int gpubpf_arena_wait(const struct gpubpf_device_ops *ops, struct gpubpf_device *device)
{
	return ops->arena_wait ? ops->arena_wait(device, true) : 0;
}

const struct gpubpf_device_ops *gpubpf_device_find(const char *backend); /* backends/registry.c */
const struct gpubpf_device_ops *gpubpf_device_at(size_t i);
/* Returns the name of backend i, also if it is not built in; NULL past the end. */
const char *gpubpf_backend_at(size_t i);
/* Returns the reason why a backend of that name cannot be used (not built in, runtime missing); "" if it can. */
const char *gpubpf_device_missing(const char *backend);

#endif
