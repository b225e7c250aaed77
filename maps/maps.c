/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of bpf(2) on the maps of an arena, dispatched by the kind of the map, and functions with which the
 * kinds read values. Changes go through the device library, so that the tool and twins on the same memory follow one
 * protocol.
 */
#include "impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maps/host/host.h"

#ifndef ENOTSUPP
#define ENOTSUPP 524 /* an error of the kernel that bpf(2) returns */
#endif

const struct gpubpf_map_impl *gpubpf_map_impl_of(const struct gpubpf_map_view *view)
{
	return view->map ? view->map->type->impl : &gpubpf_ring_impl;
}

bool gpubpf_map_type_complete(const struct gpubpf_map_type *type)
{
	const struct gpubpf_map_impl *impl = type->impl;
	const struct gpubpf_helper *helper;

	for (size_t i = 0; (helper = gpubpf_helper_at(i)); i++)
		if (gpubpf_op_row(helper->op)->function[0] && type->ops & GPUBPF_OP_BIT(helper->op) && !impl->op[helper->op])
			return false;
	return impl->name && impl->check && impl->size && (impl->where || !impl->op[GPUBPF_OP_LOOKUP]) &&
	       (impl->init || !(type->ops & GPUBPF_OP_BIT(GPUBPF_OP_ADDRESS)));
}

/* Reads words in pairs and returns the number of bytes read. x86-64 does not tear aligned 16-byte loads. */
static uint64_t read_pairs(uint64_t address, char *to, uint64_t size)
{
	typedef u64 pair __attribute__((vector_size(16)));
	enum { PAIRS = 4 };
	uint64_t i = 0;

#ifdef __x86_64__
	for (; address % sizeof(pair) == 0 && size - i >= PAIRS * sizeof(pair); i += PAIRS * sizeof(pair)) {
		const volatile pair *from = (const volatile pair *)(uintptr_t)(address + i);

		for (int p = 0; p < PAIRS; p++) {
			pair read = from[p]; /* one at a time: the compiler would put an array of them on the stack */

			memcpy(to + i + p * sizeof(pair), &read, sizeof(read));
		}
	}
#else
	(void)address, (void)to, (void)size;
#endif
	return i;
}

void gpubpf_map_read_bytes(uint64_t address, void *to, uint64_t size)
{
	uint64_t i = read_pairs(address, to, size);

	for (; size - i >= 8; i += 8)
		memcpy((char *)to + i, &(u64){ gpubpf_load_u64(address + i) }, 8);
	if (i < size) {
		u64 word = gpubpf_load_u64(address + i);

		memcpy((char *)to + i, &word, size - i);
	}
}

static u64 add_halves(u64 a, u64 b)
{
	return ((a & 0xffffffff00000000u) + (b & 0xffffffff00000000u)) | (uint32_t)((uint32_t)a + (uint32_t)b);
}

void gpubpf_map_read_value(const struct gpubpf_map_layout *l, uint64_t first, void *to)
{
	uint32_t copies = l->flags & (GPUBPF_LAYOUT_SUM8 | GPUBPF_LAYOUT_SUM4) ? l->copies : 1, i, c, n;
	u64 word, sum;

	if (copies == 1) {
		gpubpf_map_read_bytes(first, to, l->value_size);
		return;
	}
	for (i = 0; i < l->value_size; i += 8) {
		sum = gpubpf_load_u64(first + i);
		for (c = 1; c < copies; c++) {
			word = gpubpf_load_u64(first + c * l->copy_stride + i);
			sum = l->flags & GPUBPF_LAYOUT_SUM4 ? add_halves(sum, word) : sum + word;
		}
		n = l->value_size - i < 8 ? l->value_size - i : 8;
		memcpy((char *)to + i, &sum, n);
	}
}

int64_t gpubpf_map_in_value(uint64_t off, uint64_t size, uint64_t stride, uint64_t value_size)
{
	uint64_t at = off % stride;

	return size <= value_size && at <= value_size - size ? (int64_t)at : -1;
}

size_t gpubpf_map_user_value_size(const struct gpubpf_map_view *view)
{
	const struct gpubpf_map_layout *l = view->layout;
	bool copies = view->map && view->map->type->flags & GPUBPF_MAP_COPIES;

	return copies ? (size_t)l->copies * GPUBPF_ROUND8(l->value_size) : l->value_size;
}

static u64 call_op(const struct gpubpf_env *env, const struct gpubpf_map_view *view, enum gpubpf_op op, const u64 *arg,
		u64 otherwise)
{
	gpubpf_map_op_fn *fn = gpubpf_map_impl_of(view)->op[op];

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
 * May a caller add to words of this size? Additions to words of another size than the summands' would carry into the
 * next one.
 */
static bool is_addable(const struct gpubpf_map_view *view, uint32_t offset, uint32_t width)
{
	const struct gpubpf_map_layout *l = view->layout;
	uint32_t summed = l->flags & GPUBPF_LAYOUT_SUM8 ? 8 : l->flags & GPUBPF_LAYOUT_SUM4 ? 4 : width;

	return gpubpf_map_impl_of(view)->op[GPUBPF_OP_LOOKUP] && !(view->map->type->flags & (GPUBPF_MAP_COPIES | GPUBPF_MAP_OF_MAPS)) &&
	       (width == 4 || width == 8) && width == summed && !(offset % width) && offset < l->value_size &&
	       width <= l->value_size - offset;
}

/* The address of a key's value. If the key does not exist, inserts a value of zeros. */
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

int gpubpf_map_exchange(const struct gpubpf_map_view *view, const void *key, uint32_t offset, uint32_t width, uint64_t old,
			uint64_t value)
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
	was = width == 8 ? gpubpf_cas_u64(address + offset, old, value) : gpubpf_cas_u32(address + offset, (u32)old, (u32)value);
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
