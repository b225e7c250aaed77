/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device: memory, modules and launches of one opened device, in the process that owns it (the
 * application through the agent, or the test tool). One const table a backend; libc and the vendor's
 * runtime only. Handles are opaque; 0 or -errno everywhere; `diag` is a buffer for one line of why.
 * The agent's adapters pass the application's own handles in struct gpubpf_device_open.
 */
#ifndef GPUBPF_CORE_DEVICE_H
#define GPUBPF_CORE_DEVICE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/caps.h"
#include "core/wire/placement.h"

struct gpubpf_device;          /* one opened device (OpenCL: of one context) */
struct gpubpf_device_module;
struct gpubpf_device_kernel;

struct gpubpf_device_open {
	const char *name;      /* part of the device's or platform's name, NULL: the first (test tool) */
	uint32_t index;        /* of those that match, this one, from 0 (gpubpf device list) */
	void *runtime;         /* dispatch of the next layer or driver, NULL: load the runtime (test tool) */
	void *context, *handle; /* the application's, NULL: make our own */
	/* a variable of the user's environment (NULL: it is not set), for what runtimes are told there; NULL: none is asked */
	const char *(*variable)(const char *name);
	const char *cache;     /* the user's folder, where it may keep what it compiles to open; NULL: it keeps nothing */
};

struct gpubpf_why {
	char text[240];
};

/* memory beside the arena, for one map */
struct gpubpf_device_memory {
	enum gpubpf_placement where;
	void *host;            /* where the host reaches it, while kernels run too */
	uint64_t address;      /* and kernels */
	size_t size;
	void *handle;          /* the backend's */
};

struct gpubpf_device_launch {
	uint32_t dim;
	size_t grid[3];        /* threads in all, each dimension */
	size_t block[3];       /* 0: the runtime chooses */
	size_t offset[3];
	const void *const *args; /* as many as the kernel has */
	const size_t *arg_sizes;
	uint32_t nargs;
};

struct gpubpf_device_ops {
	const char *backend;   /* "opencl" */

	/* Open. May take milliseconds; never called on the launch path. */
	int (*open)(const struct gpubpf_device_open *how, struct gpubpf_device **device, struct gpubpf_why *why);
	void (*close)(struct gpubpf_device *device);
	const struct gpubpf_device_caps *(*caps)(const struct gpubpf_device *device);

	/* Give the device an arena of `size` bytes. `host` is the shared mapping of the memfd: with
	 * GPUBPF_CAP_SHARED_ARENA it becomes the device's memory, else the device's is its own, which holds nothing
	 * that is known until arena_push or arena_zero. *address is what twins get. One arena a device. */
	int (*arena_attach)(struct gpubpf_device *device, void *host, size_t size, uint64_t *address,
			    struct gpubpf_why *why);
	/* Copy a range of the arena from or to the device; nothing to do for a shared arena. Waits for no
	 * kernel, where the device can copy beside one. */
	int (*arena_pull)(struct gpubpf_device *device, size_t offset, void *to, size_t size);
	int (*arena_push)(struct gpubpf_device *device, size_t offset, const void *from, size_t size);
	/* Would a push wait for none now, where the device cannot copy beside one? NULL: it can. */
	bool (*quiet)(struct gpubpf_device *device);
	/* Fill a range with zeros. NULL: push them. */
	int (*arena_zero)(struct gpubpf_device *device, size_t offset, size_t size);
	/* arena_pull, arena_push and arena_zero may return before the copy is done: pulls of a thread are done in the order
	 * of their calls, pushes and zeros in theirs. This waits for the thread's pulls, and with `all` for all that there are.
	 * NULL: each is done when it returns. */
	int (*arena_wait)(struct gpubpf_device *device, bool all);
	void (*arena_detach)(struct gpubpf_device *device);
	/* Memory for a map that is not to lie in the arena, at a place that the caps promise. `host`: the session's own memory
	 * of that size, in pages, which it is to be where that is promised too (gpubpf_placement_live()); else memory->host is
	 * other memory, whose bytes nobody knows. Before arena_detach(). NULL, both: no caps promise any. */
	int (*memory_get)(struct gpubpf_device *device, enum gpubpf_placement where, void *host, size_t size,
			  struct gpubpf_device_memory *memory, struct gpubpf_why *why);
	void (*memory_put)(struct gpubpf_device *device, const struct gpubpf_device_memory *memory);
	/* Make the mirror's memory of that range and pin it, as far as it goes, so that a first pull of it is as fast as
	 * others. A second for some GB; several threads may do it at once, beside all else. NULL: nothing would become
	 * faster. */
	void (*mirror_prepare)(struct gpubpf_device *device, size_t offset, size_t size);
	/* A descriptor of the arena's memory, by which it outlives this process. -EOPNOTSUPP; NULL: no such
	 * memory. */
	int (*arena_export)(struct gpubpf_device *device, int *fd);
	/* In another process, in place of arena_attach: the arena is that memory; arena_pull copies from it.
	 * -EXDEV: it belongs to another device. The descriptor stays the caller's. */
	int (*arena_adopt)(struct gpubpf_device *device, int fd, void *host, size_t size, struct gpubpf_why *why);
	/* Wait until all that was launched before has ended, so that the next pull has all of it. 0;
	 * -ETIMEDOUT; -EIO: the device is broken. NULL: pulls wait by themselves, or the hooks follow each
	 * launch to its end. */
	int (*settle)(struct gpubpf_device *device, uint32_t timeout_ms);

	/* Where a kernel sees the application's buffer (OpenCL: a cl_mem), which keeps its address as long as it lives.
	 * Runs a kernel and waits for it. NULL: allocations are addresses as they are. */
	int (*buffer_address)(struct gpubpf_device *device, void *buffer, uint64_t *address);

	/* Load a twin: pieces as the target made them, or the vendor binary that the builder returned.
	 * May take seconds where the vendor compiles. */
	int (*module_load)(struct gpubpf_device *device, enum gpubpf_image_kind kind, const void *image,
			   size_t size, const char *options, struct gpubpf_device_module **module,
			   struct gpubpf_why *why);
	void (*module_unload)(struct gpubpf_device_module *module);
	int (*kernel_get)(struct gpubpf_device_module *module, const char *name,
			  struct gpubpf_device_kernel **kernel, struct gpubpf_why *why);
	void (*kernel_put)(struct gpubpf_device_kernel *kernel);

	/* Launch and wait (test tool, gpu/run); the agent's adapters enqueue twins themselves. */
	int (*launch)(struct gpubpf_device_kernel *kernel, const struct gpubpf_device_launch *launch,
		      struct gpubpf_why *why);
	/* A device clock reading and CLOCK_MONOTONIC around it, for calibration. -EOPNOTSUPP: no clock. */
	int (*clock)(struct gpubpf_device *device, uint64_t *cycles, uint64_t *before_ns, uint64_t *after_ns);
};

/* What is not called optional above is there: of what runs programs need, and of what our own tools need to launch. */
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
/* Names of all backends, those that are not built in too; NULL past the end. */
const char *gpubpf_backend_at(size_t i);
/* Why a backend of that name cannot be used (not built in, runtime missing); "" if it can. */
const char *gpubpf_device_missing(const char *backend);

#endif
