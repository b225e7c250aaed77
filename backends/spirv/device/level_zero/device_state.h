/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a Level Zero device, and the functions that open it. */
#ifndef GPUBPF_BACKENDS_SPIRV_DEVICE_LEVELZERO_STATE_H
#define GPUBPF_BACKENDS_SPIRV_DEVICE_LEVELZERO_STATE_H

#include <pthread.h>

#include "level_zero.h"

struct gpubpf_device {
	struct gpubpf_ze_api api;
	struct gpubpf_device_caps caps;
	ze_context_handle_t context;
	bool owns_context; /* true: we created the context and must destroy it */
	ze_device_handle_t id;
	ze_command_list_handle_t list; /* an immediate command list in synchronous mode */
	pthread_mutex_t lock;          /* protects `list`, which only one thread may use at a time */
	/*
	 * memory of the arena: device memory, host memory (holds a copy of the session's arena), or the session's
	 * mapping itself
	 */
	enum { ARENA_DEVICE, ARENA_HOST, ARENA_SYSTEM } arena_kind;
	char *arena;
	size_t arena_size;
	struct gpubpf_device_module *clock_module;
	struct gpubpf_device_kernel *clock_kernel;
	void *clock_word; /* in device memory; written by the kernel that reads the clock */
};

/*
 * Limit the count *n to `most`, the number of elements in our array. Call this before the driver fills the array: some
 * drivers write *n entries even if there are fewer objects.
 */
static inline uint32_t clamp(uint32_t *n, uint32_t most)
{
	return *n = *n < most ? *n : most;
}

/*
 * open.c: fill *api from `functions`, or from the Level Zero loader if `functions` is NULL. Returns 0, or -errno and a
 * reason.
 */
int gpubpf_ze_api_load(struct gpubpf_ze_api *api, const struct gpubpf_ze_api *functions, struct gpubpf_reason *why);
/*
 * Use the application's context and device, or find a device and create a context. Returns 0, or -errno and a reason.
 */
int gpubpf_ze_open_context(struct gpubpf_device *d, const struct gpubpf_device_open *how, struct gpubpf_reason *why);
/* Create the command list on the first queue group that can run kernels. Returns 0, or -errno and a reason. */
int gpubpf_ze_open_list(struct gpubpf_device *d, struct gpubpf_reason *why);
/* caps.c: set d->caps except for the clock, and choose the memory of the arena. */
void gpubpf_ze_fill_caps(struct gpubpf_device *d);

#endif
