/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device library on the host. It compiles all functions of the library as static inline (maps/device/devlib.h), and provides
 * look-up, update and delete for callers that do not know the kind of a map. The interpreter runs programs with these
 * functions. Map and env addresses are addresses of this process (env->arena: the mapping).
 */
#ifndef GPUBPF_MAPS_HOST_H
#define GPUBPF_MAPS_HOST_H

#include <stdbool.h>

#include "maps/device/atomics.h"
#include "maps/device/ctx.h"
#include "maps/device/external.h"
#include "maps/device/allocations.h"
#include "maps/kinds/kinds.h"
#include "maps/device/print.h"

struct gpubpf_map_view;

/* expands to the values of GPUBPF_MAP_ARGS from a struct gpubpf_map_layout */
#define GPUBPF_LAYOUT_PASS(l) (l)->flags, (l)->key_size, (l)->value_size, (l)->max_entries, (l)->copies, \
	(l)->ctl, (l)->data, (l)->stride, (l)->copy_stride

/*
 * Defines an operation of a kind for its struct gpubpf_map_impl: HOST_OP(hash, delete, HOST_PTR(arg[0])) defines
 * hash_delete().
 */
#define HOST_PTR(number) ((u8 *)(uintptr_t)(number))
#define HOST_OP(kind, function, ...) \
	static uint64_t kind##_##function(GPUBPF_ENV, const struct gpubpf_map_layout *l, const uint64_t *arg) \
	{ \
		return (uint64_t)gpubpf_##kind##_##function(env, GPUBPF_LAYOUT_PASS(l), __VA_ARGS__); \
	}

/* Set the coordinates of the GPU thread as which this host thread runs; NULL: one thread of one block. */
void gpubpf_host_thread_set(const struct gpubpf_host_thread *thread);

/*
 * Helpers 1 to 3 for a map of any kind. A look-up returns the value's address or 0; the others return 0 or -errno,
 * -EINVAL for a kind without keys. The key and the value must be readable for their sizes.
 */
u64 gpubpf_host_lookup(const struct gpubpf_env *env, const struct gpubpf_map_view *view, const void *key);
s64 gpubpf_host_update(const struct gpubpf_env *env, const struct gpubpf_map_view *view, const void *key,
		       const void *value, u64 flags);
s64 gpubpf_host_delete(const struct gpubpf_env *env, const struct gpubpf_map_view *view, const void *key);

#endif
