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
	bool owns_context; /* we created the context, and must destroy it */
	ze_device_handle_t id;
	ze_command_list_handle_t list; /* an immediate command list in synchronous mode */
	pthread_mutex_t lock;          /* protects `list`, which only one thread may use at a time */
	/* memory of the arena: the device's, the host's (a copy of the session's arena), or the session's mapping
	 * itself */
	enum { ARENA_DEVICE, ARENA_HOST, ARENA_SYSTEM } arena_kind;
	char *arena;
	size_t arena_size;
	struct gpubpf_device_module *clock_module;
	struct gpubpf_device_kernel *clock_kernel;
	void *clock_word; /* in the device's memory; the clock's kernel writes it */
};

/* Limit a driver's count to the room of our array: some drivers fill all entries up to the passed count. */
static inline uint32_t clamp(uint32_t *n, uint32_t most)
{
	return *n = *n < most ? *n : most;
}

/* open.c: copy `functions`; if it is NULL, load the functions of the loader. 0, or -errno and a reason. */
int gpubpf_ze_api_load(struct gpubpf_ze_api *api, const struct gpubpf_ze_api *functions, struct gpubpf_reason *why);
/* Take the application's context and device, or find the device and create a context. 0, or -errno and a reason. */
int gpubpf_ze_open_context(struct gpubpf_device *d, const struct gpubpf_device_open *how, struct gpubpf_reason *why);
/* Create the command list, on the first queue group that can run kernels. 0, or -errno and a reason. */
int gpubpf_ze_open_list(struct gpubpf_device *d, struct gpubpf_reason *why);
/* caps.c: set d->caps except for the clock, and the memory in which the arena lies. */
void gpubpf_ze_fill_caps(struct gpubpf_device *d);

#endif
