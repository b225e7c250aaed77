/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <errno.h>

#include "maps.h"

__thread const struct gpubpf_host_thread *gpubpf_host_thread;

void gpubpf_host_thread_set(const struct gpubpf_host_thread *thread)
{
	gpubpf_host_thread = thread;
}

/* the device library's operations of one implementation, out of line */
#define IMPL(impl) \
	static u64 impl##_lookup(GPUBPF_ENV, const struct gpubpf_map_layout *l, const u8 *key) \
	{ \
		return gpubpf_##impl##_lookup(env, GPUBPF_LAYOUT_PASS(l), key); \
	} \
	static s64 impl##_update(GPUBPF_ENV, const struct gpubpf_map_layout *l, const u8 *key, const u8 *value, \
				 u64 flags) \
	{ \
		return gpubpf_##impl##_update(env, GPUBPF_LAYOUT_PASS(l), key, value, flags); \
	} \
	static s64 impl##_delete(GPUBPF_ENV, const struct gpubpf_map_layout *l, const u8 *key) \
	{ \
		return gpubpf_##impl##_delete(env, GPUBPF_LAYOUT_PASS(l), key); \
	}

IMPL(array)
IMPL(thread_array)
IMPL(hash)

struct impl {
	u64 (*lookup)(GPUBPF_ENV, const struct gpubpf_map_layout *l, const u8 *key);
	s64 (*update)(GPUBPF_ENV, const struct gpubpf_map_layout *l, const u8 *key, const u8 *value, u64 flags);
	s64 (*delete)(GPUBPF_ENV, const struct gpubpf_map_layout *l, const u8 *key);
};

static const struct impl array = { array_lookup, array_update, array_delete };
static const struct impl thread_array = { thread_array_lookup, thread_array_update, thread_array_delete };
static const struct impl hash = { hash_lookup, hash_update, hash_delete };

static const struct impl *impl_of(const struct gpubpf_map_view *view)
{
	uint32_t type = view->map ? view->map->type->flags : GPUBPF_MAP_RING;

	if (type & GPUBPF_MAP_RING)
		return NULL;
	return type & GPUBPF_MAP_THREAD ? &thread_array : type & GPUBPF_MAP_U32KEY ? &array : &hash;
}

u64 gpubpf_host_lookup(const struct gpubpf_env *env, const struct gpubpf_map_view *view, const void *key)
{
	const struct impl *impl = impl_of(view);

	return impl ? impl->lookup(env, view->layout, key) : 0;
}

s64 gpubpf_host_update(const struct gpubpf_env *env, const struct gpubpf_map_view *view, const void *key,
		       const void *value, u64 flags)
{
	const struct impl *impl = impl_of(view);

	return impl ? impl->update(env, view->layout, key, value, flags) : -EINVAL;
}

s64 gpubpf_host_delete(const struct gpubpf_env *env, const struct gpubpf_map_view *view, const void *key)
{
	const struct impl *impl = impl_of(view);

	return impl ? impl->delete(env, view->layout, key) : -EINVAL;
}
