/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares the device library on the host, which compiles all its functions as static inline (maps/device/devlib.h).
 * The interpreter runs programs with these functions. The functions below look up, update and delete elements for
 * callers that do not know the kind of a map. Addresses in env are addresses of this process; env->arena is the address
 * of the mapping.
 */
#ifndef GPUBPF_MAPS_HOST_H
#define GPUBPF_MAPS_HOST_H

#include <stdbool.h>

#include "maps/device/atomics.h"
#include "maps/device/ctx.h"
#include "maps/device/external.h"
#include "maps/device/allocations.h"
#include "maps/kinds/kinds.h"
#include "maps/device/dynptr.h"
#include "maps/device/print.h"

struct gpubpf_map_view;

/* The arguments for GPUBPF_MAP_ARGS, from a struct gpubpf_map_layout. */
#define GPUBPF_LAYOUT_PASS(l) (l)->flags, (l)->key_size, (l)->value_size, (l)->max_entries, (l)->copies, \
	(l)->ctl, (l)->data, (l)->stride, (l)->copy_stride

/*
 * Defines an operation of a kind, for its struct gpubpf_map_impl. For example, HOST_OP(hash, delete, HOST_PTR(arg[0]))
 * defines hash_delete().
 */
#define HOST_PTR(number) ((u8 *)(uintptr_t)(number))
#define HOST_OP(kind, function, ...) \
	static uint64_t kind##_##function(GPUBPF_ENV, const struct gpubpf_map_layout *l, const uint64_t *arg) \
	{ \
		return (uint64_t)gpubpf_##kind##_##function(env, GPUBPF_LAYOUT_PASS(l), __VA_ARGS__); \
	}

/* Set the GPU thread coordinates of the calling host thread. NULL: one thread of one block. */
void gpubpf_host_thread_set(const struct gpubpf_host_thread *thread);

/*
 * Implement helpers 1 to 3 for a map of any kind. The key and the value must be readable for the map's sizes. A look-up
 * returns the address of the value, or 0. Update and delete return 0 or -errno; they return -EINVAL for a kind without
 * keys.
 */
u64 gpubpf_host_lookup(const struct gpubpf_env *env, const struct gpubpf_map_view *view, const void *key);
s64 gpubpf_host_update(const struct gpubpf_env *env, const struct gpubpf_map_view *view, const void *key,
		       const void *value, u64 flags);
s64 gpubpf_host_delete(const struct gpubpf_env *env, const struct gpubpf_map_view *view, const void *key);

#endif
