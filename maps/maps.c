/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the operations of bpf(2): calls the functions of the map's kind. The maps are in an arena, the block of
 * memory that holds all maps of a session on one device. Changes call the device library (maps/device), the code with
 * which twins access maps. So the tool and twins follow the same protocol when they share memory.
 */
#include "impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maps/host/host.h"

#ifndef ENOTSUPP
#define ENOTSUPP 524 /* an internal error number of the Linux kernel, which bpf(2) returns */
#endif

int gpubpf_map_lookup(const struct gpubpf_map_view *view, const void *key, void *value)
{
	const struct gpubpf_map_impl *impl = gpubpf_map_impl_of(view);

	return impl->read ? impl->read(view, key, value) : -ENOTSUPP;
}

int gpubpf_map_update(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	const struct gpubpf_map_impl *impl = gpubpf_map_impl_of(view);

	return impl->write ? impl->write(view, key, value, flags) : -ENOTSUPP;
}

int gpubpf_map_delete(const struct gpubpf_map_view *view, const void *key)
{
	const struct gpubpf_map_impl *impl = gpubpf_map_impl_of(view);

	if (!impl->erase)
		return -ENOTSUPP;
	return view->layout->flags & GPUBPF_LAYOUT_RDONLY ? -EPERM : impl->erase(view, key);
}

/*
 * Returns true if a caller may add to words of this size at this offset. If readers sum copies in words of another
 * size, a carry could enter the next word.
 */
static bool is_addable(const struct gpubpf_map_view *view, uint32_t offset, uint32_t width)
{
	const struct gpubpf_map_layout *l = view->layout;
	uint32_t summed = l->flags & GPUBPF_LAYOUT_SUM8 ? 8 : l->flags & GPUBPF_LAYOUT_SUM4 ? 4 : width;

	return gpubpf_map_impl_of(view)->op[GPUBPF_OP_LOOKUP] && !(l->flags & GPUBPF_LAYOUT_MAX8) &&
	       !(view->map->type->flags & (GPUBPF_MAP_COPIES | GPUBPF_MAP_OF_MAPS)) && (width == 4 || width == 8) &&
	       width == summed && !(offset % width) && offset < l->value_size && width <= l->value_size - offset;
}

/* Find the address of the value of a key. If the key does not exist, it is inserted with a value of zeros. */
static int find_or_insert(const struct gpubpf_env *env, const struct gpubpf_map_view *view, const void *key, u64 *address)
{
	void *zeros;
	s64 err = 0;

	*address = gpubpf_host_lookup(env, view, key);
	if (*address)
		return 0;
	zeros = calloc(1, view->layout->value_size);
	if (!zeros)
		return -ENOMEM;
	err = gpubpf_host_update(env, view, key, zeros, GPUBPF_NOEXIST);
	free(zeros);
	if (err && err != -EEXIST)
		return (int)err;
	*address = gpubpf_host_lookup(env, view, key);
	return *address ? 0 : -ENOENT;
}

int gpubpf_map_add(const struct gpubpf_map_view *view, const void *key, uint32_t offset, uint32_t width, uint64_t n)
{
	const struct gpubpf_env env = { .arena = (uintptr_t)view->arena };
	u64 address;
	int err;

	if (!is_addable(view, offset, width))
		return -EINVAL;
	if (view->layout->flags & GPUBPF_LAYOUT_RDONLY)
		return -EPERM;
	err = find_or_insert(&env, view, key, &address);
	if (!err && width == 8)
		gpubpf_add_u64(address + offset, n);
	else if (!err)
		gpubpf_add_u32(address + offset, (u32)n);
	return err;
}

int gpubpf_map_exchange(const struct gpubpf_map_view *view, const void *key, uint32_t offset, uint32_t width,
			uint64_t old, uint64_t value)
{
	const struct gpubpf_env env = { .arena = (uintptr_t)view->arena };
	u64 address, was;

	if (!is_addable(view, offset, width))
		return -EINVAL;
	if (view->layout->flags & GPUBPF_LAYOUT_RDONLY)
		return -EPERM;
	address = gpubpf_host_lookup(&env, view, key);
	if (!address)
		return -ENOENT;
	was = width == 8 ? gpubpf_cas_u64(address + offset, old, value) :
			   gpubpf_cas_u32(address + offset, (u32)old, (u32)value);
	return was == old ? 0 : -EAGAIN;
}

bool gpubpf_map_is_same_element(const struct gpubpf_map_view *view, const struct gpubpf_map_view *then, const void *key)
{
	const struct gpubpf_map_impl *impl = gpubpf_map_impl_of(view);

	return !impl->is_same_element || impl->is_same_element(view, then, key);
}

int gpubpf_map_next_key(const struct gpubpf_map_view *view, const void *key, void *next)
{
	const struct gpubpf_map_impl *impl = gpubpf_map_impl_of(view);

	return impl->next ? impl->next(view, key, next) : -ENOTSUPP;
}

int gpubpf_map_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	const struct gpubpf_map_impl *impl = gpubpf_map_impl_of(view);

	return impl->iterate ? impl->iterate(view, cursor, key, value) : -ENOTSUPP;
}

uint32_t gpubpf_map_read_run(const struct gpubpf_map_view *view, uint32_t first, uint32_t n, void *values)
{
	const struct gpubpf_map_impl *impl = gpubpf_map_impl_of(view);

	return impl->read_run ? impl->read_run(view, first, n, values) : 0;
}

const void *gpubpf_map_values(const struct gpubpf_map_view *view)
{
	const struct gpubpf_map_impl *impl = gpubpf_map_impl_of(view);

	return impl->values ? (const void *)(uintptr_t)impl->values(view) : NULL;
}

int gpubpf_map_lookup_and_delete(const struct gpubpf_map_view *view, const void *key, void *value)
{
	const struct gpubpf_map_impl *impl = gpubpf_map_impl_of(view);

	if (!impl->take)
		return -ENOTSUPP;
	return view->layout->flags & GPUBPF_LAYOUT_RDONLY ? -EPERM : impl->take(view, key, value);
}

uint64_t gpubpf_map_drops(const struct gpubpf_map_view *view)
{
	const struct gpubpf_map_impl *impl = gpubpf_map_impl_of(view);
	u64 ctl = (uintptr_t)view->arena + view->layout->ctl;

	return gpubpf_load_u64(ctl) + gpubpf_load_u64(ctl + offsetof(struct gpubpf_map_ctl, lock_timeouts)) +
	       (impl->drops ? impl->drops(view) : 0);
}
