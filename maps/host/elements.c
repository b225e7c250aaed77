/* SPDX-License-Identifier: Apache-2.0 */
/* Implements helpers 1 to 3 (look-up, update, delete) on the host, for a map of any kind. */
#include "host.h"

#include <errno.h>

#include "maps/impl.h"

static u64 call_op(const struct gpubpf_env *env, const struct gpubpf_map_view *view, enum gpubpf_op op, const u64 *arg,
		   u64 otherwise)
{
	/* view->map is NULL for the print ring, which has no elements */
	gpubpf_map_op_fn *fn = view->map ? view->map->type->impl->op[op] : NULL;

	return fn ? fn(env, view->layout, arg) : otherwise;
}

u64 gpubpf_host_lookup(const struct gpubpf_env *env, const struct gpubpf_map_view *view, const void *key)
{
	return call_op(env, view, GPUBPF_OP_LOOKUP, (u64[]){ (uintptr_t)key }, 0);
}

s64 gpubpf_host_update(const struct gpubpf_env *env, const struct gpubpf_map_view *view, const void *key,
		       const void *value, u64 flags)
{
	const u64 arg[] = { (uintptr_t)key, (uintptr_t)value, flags };

	return (s64)call_op(env, view, GPUBPF_OP_UPDATE, arg, (u64)-EINVAL);
}

s64 gpubpf_host_delete(const struct gpubpf_env *env, const struct gpubpf_map_view *view, const void *key)
{
	return (s64)call_op(env, view, GPUBPF_OP_DELETE, (u64[]){ (uintptr_t)key }, (u64)-EINVAL);
}
