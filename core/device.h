/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a device: memory, modules and launches of one opened device, in the process that owns it. This
 * process is the application (through the agent) or the test tool. Each backend implements the interface by one
 * constant table of functions, which uses only libc and the vendor's runtime. Handles are opaque. Every operation
 * returns 0 or -errno. `why` receives a reason of one line. The agent's adapters pass the application's own handles in
 * struct gpubpf_device_open.
 */
#ifndef GPUBPF_CORE_DEVICE_H
#define GPUBPF_CORE_DEVICE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/caps.h"
#include "core/wire/placement.h"

struct gpubpf_device; /* one opened device; for OpenCL, a device in one context */
struct gpubpf_device_module;
struct gpubpf_device_kernel;

struct gpubpf_device_open {
	/* text that the device's or platform's name must contain; NULL: any device (test tool) */
	const char *name;
	uint32_t index;         /* index among the matching devices, from 0, as in `gpubpf device list` */
	void *runtime;          /* function table of the next layer or driver; NULL: load the runtime (test tool) */
	void *context, *handle; /* the application's handles; NULL: create our own */
	/*
	 * Returns the value of an environment variable that configures a runtime, or NULL if it is not set. If this
	 * member is NULL, the device reads no variables.
	 */
	const char *(*variable)(const char *name);
	const char *cache; /* folder in which open() may cache code that it compiles; NULL: no cache */
};

struct gpubpf_reason {
	char text[240];
};

/* memory outside of the arena, for one map */
struct gpubpf_device_memory {
	enum gpubpf_placement where;
	void *host;       /* address in the host process, valid also while GPU kernels run */
	uint64_t address; /* address in GPU kernels */
	size_t size;
	void *handle; /* owned by the backend */
};

struct gpubpf_device_launch {
	uint32_t dim;
	size_t grid[3];  /* number of threads of the launch in each dimension, over all blocks */
	size_t block[3]; /* number of threads of a block in each dimension; 0: the runtime chooses */
	size_t offset[3];
	const void *const *args; /* [nargs]: addresses of the kernel's arguments */
	const size_t *arg_sizes;
	uint32_t nargs;
};

struct gpubpf_device_ops {
	const char *backend; /* "opencl" */

	/* Opens a device. This may take milliseconds, so it is never called on the launch path. */
	int (*open)(const struct gpubpf_device_open *how, struct gpubpf_device **device, struct gpubpf_reason *why);
	void (*close)(struct gpubpf_device *device);
	const struct gpubpf_device_caps *(*caps)(const struct gpubpf_device *device);

	/*
	 * Attaches an arena of `size` bytes to the device. `host` is the shared mapping of the session's memfd. If the
	 * device has GPUBPF_CAP_SHARED_ARENA, this mapping is the device's memory. Otherwise the device allocates
	 * memory, whose content is undefined until arena_push or arena_zero. *address receives the arena's address in
	 * twins. A device has at most one arena.
	 */
	int (*arena_attach)(struct gpubpf_device *device, void *host, size_t size, uint64_t *address,
			    struct gpubpf_reason *why);
	/*
	 * Copies a range of the arena from or to the device. Has no effect on a shared arena. Does not wait for running
	 * GPU kernels if the device can copy while a kernel runs.
	 */
	int (*arena_pull)(struct gpubpf_device *device, size_t offset, void *to, size_t size);
	int (*arena_push)(struct gpubpf_device *device, size_t offset, const void *from, size_t size);
	/*
	 * Returns true if a push can start now without waiting for a GPU kernel. Only for devices that cannot copy
	 * while a kernel runs. NULL: pushes never wait.
	 */
	bool (*quiet)(struct gpubpf_device *device);
	/* Fills a range of the arena on the device with zeros. NULL: the caller pushes zeros. */
	int (*arena_zero)(struct gpubpf_device *device, size_t offset, size_t size);
	/*
	 * Waits for the copies of the calling thread's pulls, or with `all` for all copies of all threads. The
	 * functions arena_pull, arena_push and arena_zero may return before their copy is complete. The pulls of one
	 * thread complete in call order, and so do its pushes and zeros. NULL: each copy is complete when its function
	 * returns.
	 */
	int (*arena_wait)(struct gpubpf_device *device, bool all);
	void (*arena_detach)(struct gpubpf_device *device);
	/*
	 * Allocates memory outside of the arena for a map. The device's capabilities must include memory of kind
	 * `where`. `host` is the session's memory of that size, in whole pages. If gpubpf_placement_live() is true for
	 * the capabilities, the session's memory becomes the map's memory. Otherwise memory->host points to other
	 * memory, with undefined content.
	 *
	 * The caller must release the memory with memory_put() before it calls arena_detach(). The members
	 * memory_get and memory_put are NULL if no capability includes such memory.
	 */
	int (*memory_get)(struct gpubpf_device *device, enum gpubpf_placement where, void *host, size_t size,
			  struct gpubpf_device_memory *memory, struct gpubpf_reason *why);
	void (*memory_put)(struct gpubpf_device *device, const struct gpubpf_device_memory *memory);
	/*
	 * Allocates and pins host memory for this range of the mirror, as far as possible. The first pull is then as
	 * fast as later pulls. This takes about a second for some GB. Several threads may call it at the same time,
	 * also concurrently with all other operations. NULL: the first pull needs no preparation.
	 */
	void (*mirror_prepare)(struct gpubpf_device *device, size_t offset, size_t size);
	/*
	 * Stores in *fd a file descriptor of the arena's memory, which keeps the memory alive after this process ends.
	 * If the device has no such memory, the function returns -EOPNOTSUPP, or this pointer is NULL.
	 */
	int (*arena_export)(struct gpubpf_device *device, int *fd);
	/*
	 * Replaces arena_attach in another process: the arena is the memory of the file descriptor fd, from which
	 * arena_pull copies. Returns -EXDEV if the memory belongs to another device. The caller still owns the
	 * descriptor.
	 */
	int (*arena_adopt)(struct gpubpf_device *device, int fd, void *host, size_t size, struct gpubpf_reason *why);
	/*
	 * Waits until all earlier launches have ended, so that the next pull sees their results. Returns 0, -ETIMEDOUT,
	 * or -EIO if the device is broken. NULL: pulls wait for the launches, or the hooks track the end of each
	 * launch.
	 */
	int (*settle)(struct gpubpf_device *device, uint32_t timeout_ms);

	/*
	 * Finds the address that GPU kernels see for the application's buffer (OpenCL: a cl_mem). The address is
	 * constant while the buffer exists. Runs a GPU kernel and waits for it. NULL: the application's handles are
	 * addresses already.
	 */
	int (*buffer_address)(struct gpubpf_device *device, void *buffer, uint64_t *address);

	/*
	 * Loads a twin: the pieces that the target made, or the vendor binary that the builder made. May take seconds
	 * if the vendor's runtime compiles the pieces.
	 */
	int (*module_load)(struct gpubpf_device *device, enum gpubpf_image_kind kind, const void *image, size_t size,
			   const char *options, struct gpubpf_device_module **module, struct gpubpf_reason *why);
	void (*module_unload)(struct gpubpf_device_module *module);
	int (*kernel_get)(struct gpubpf_device_module *module, const char *name, struct gpubpf_device_kernel **kernel,
			  struct gpubpf_reason *why);
	void (*kernel_put)(struct gpubpf_device_kernel *kernel);

	/*
	 * Launches a GPU kernel and waits for its end; for the test tool and gpu/run. The agent's adapters enqueue
	 * twins directly.
	 */
	int (*launch)(struct gpubpf_device_kernel *kernel, const struct gpubpf_device_launch *launch,
		      struct gpubpf_reason *why);
	/*
	 * Reads the device's clock, and CLOCK_MONOTONIC before and after it, for calibration. Returns -EOPNOTSUPP if
	 * the device has no clock.
	 */
	int (*clock)(struct gpubpf_device *device, uint64_t *cycles, uint64_t *before_ns, uint64_t *after_ns);
};

/*
 * Asserts that a table has all operations that are not optional. The function gpubpf_device_check() checks the
 * operations for attaching programs. The function gpubpf_device_check_launch() checks the operations with which the
 * test tool launches kernels.
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
/* Returns the name of backend i, also if it is not built in. Returns NULL past the end of the list. */
const char *gpubpf_backend_at(size_t i);
/* Returns the reason why the backend of that name cannot be used (not built in, or its runtime is missing), or "". */
const char *gpubpf_device_missing(const char *backend);

#endif
