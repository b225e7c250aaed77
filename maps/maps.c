/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf(2)'s map operations on an arena. Changes go through the device library, so that the tool and twins
 * on the same memory follow one protocol; reading puts the copies of a value together.
 */
#include "maps.h"

#include <errno.h>
#include <string.h>

#include "host.h"

#ifndef ENOTSUPP
#define ENOTSUPP 524 /* the kernel's own, which bpf(2) returns */
#endif
#define READ_TRIES 64

static uint32_t type_flags(const struct gpubpf_map_view *view)
{
	return view->map ? view->map->type->flags : GPUBPF_MAP_RING;
}

static struct gpubpf_env env_of(const struct gpubpf_map_view *view)
{
	return (struct gpubpf_env){ .arena = (uintptr_t)view->arena };
}

static uint32_t padded(uint32_t size)
{
	return GPUBPF_ROUND8(size);
}

static void read_bytes(u64 address, void *to, uint32_t size)
{
	uint32_t i, n;
	u64 word;

	for (i = 0; i < size; i += 8) {
		word = gpubpf_load_u64(address + i);
		n = size - i < 8 ? size - i : 8;
		memcpy((char *)to + i, &word, n);
	}
}

static u64 add_halves(u64 a, u64 b)
{
	return ((a & 0xffffffff00000000u) + (b & 0xffffffff00000000u)) | (uint32_t)((uint32_t)a + (uint32_t)b);
}

/* One value out of its copies: the first, or the sum of all. */
static void read_value(const struct gpubpf_map_layout *l, u64 first, void *to)
{
	uint32_t copies = l->flags & (GPUBPF_LAYOUT_SUM8 | GPUBPF_LAYOUT_SUM4) ? l->copies : 1, i, c, n;
	u64 word, sum;

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

static bool has_user_copies(const struct gpubpf_map_view *view)
{
	return type_flags(view) & GPUBPF_MAP_COPIES;
}

size_t gpubpf_map_user_value_size(const struct gpubpf_map_view *view)
{
	const struct gpubpf_map_layout *l = view->layout;

	return has_user_copies(view) ? (size_t)l->copies * padded(l->value_size) : l->value_size;
}

static void read_index(const struct gpubpf_map_view *view, uint32_t index, void *to)
{
	const struct gpubpf_map_layout *l = view->layout;
	u64 first = (uintptr_t)view->arena + l->data + index * l->stride;
	uint32_t c;

	if (!has_user_copies(view)) {
		read_value(l, first, to);
		return;
	}
	memset(to, 0, gpubpf_map_user_value_size(view));
	for (c = 0; c < l->copies; c++)
		read_bytes(first + c * l->copy_stride, (char *)to + (size_t)c * padded(l->value_size), l->value_size);
}

/* the element of a key as index + 1, 0 if there is none */
static uint32_t find(const struct gpubpf_map_view *view, const void *key)
{
	const struct gpubpf_map_layout *l = view->layout;
	uint32_t bucket = gpubpf_hash_bucket(key, l->key_size, l->max_entries), tries, at;
	struct gpubpf_env env = env_of(view);
	u64 before = 0;

	for (tries = 0; tries < READ_TRIES; tries++) {
		at = gpubpf_hash_walk(&env, GPUBPF_LAYOUT_PASS(l), key, bucket, &before);
		if (at != GPUBPF_HASH_LOST)
			return at;
	}
	return 0;
}

static u64 elem_at(const struct gpubpf_map_view *view, uint32_t at)
{
	return (uintptr_t)view->arena + view->layout->data + (at - 1) * view->layout->stride;
}

static u64 value_at(const struct gpubpf_map_view *view, uint32_t at)
{
	struct gpubpf_env env = env_of(view);

	return gpubpf_hash_value_at(&env, GPUBPF_LAYOUT_PASS(view->layout), at, 0);
}

/* The generation is looked at before and after: an element may go to another key while it is read. */
static int read_hash(const struct gpubpf_map_view *view, const void *key, void *to)
{
	uint32_t tries, at, gen, again = 0;
	u64 elem;

	for (tries = 0; tries < READ_TRIES; tries++) {
		at = find(view, key);
		if (!at)
			return -ENOENT;
		elem = elem_at(view, at);
		gen = gpubpf_load_acquire_u32(elem + GPUBPF_HASH_GEN);
		if (gpubpf_hash_holds(elem, key, view->layout->key_size) != 1)
			continue;
		read_value(view->layout, value_at(view, at), to);
		gpubpf_fence();
		again = gpubpf_load_u32(elem + GPUBPF_HASH_GEN);
		if (again == gen)
			return 0;
	}
	return -EBUSY;
}

int gpubpf_map_lookup(const struct gpubpf_map_view *view, const void *key, void *value)
{
	uint32_t index;

	if (type_flags(view) & GPUBPF_MAP_RING)
		return -ENOTSUPP;
	if (!(type_flags(view) & GPUBPF_MAP_U32KEY))
		return read_hash(view, key, value);
	memcpy(&index, key, sizeof(index));
	if (index >= view->layout->max_entries)
		return -ENOENT;
	read_index(view, index, value);
	return 0;
}

/* all copies at once, as bpf(2) sets the values of all CPUs */
static int update_copies(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	const struct gpubpf_map_layout *l = view->layout;
	uint32_t index, c;
	u64 first;

	memcpy(&index, key, sizeof(index));
	if (flags > GPUBPF_EXIST)
		return -EINVAL;
	if (index >= l->max_entries)
		return -E2BIG;
	if (flags == GPUBPF_NOEXIST)
		return -EEXIST;
	first = (uintptr_t)view->arena + l->data + index * l->stride;
	for (c = 0; c < l->copies; c++)
		gpubpf_copy_in(first + c * l->copy_stride,
			       (const uint8_t *)value + (size_t)c * padded(l->value_size), l->value_size);
	return 0;
}

int gpubpf_map_update(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	struct gpubpf_env env = env_of(view);

	if (type_flags(view) & GPUBPF_MAP_RING)
		return -ENOTSUPP;
	if (has_user_copies(view))
		return update_copies(view, key, value, flags);
	return (int)gpubpf_host_update(&env, view, key, value, flags);
}

int gpubpf_map_delete(const struct gpubpf_map_view *view, const void *key)
{
	struct gpubpf_env env = env_of(view);

	if (type_flags(view) & GPUBPF_MAP_RING)
		return -ENOTSUPP;
	if (view->layout->flags & GPUBPF_LAYOUT_RDONLY)
		return -EPERM;
	return (int)gpubpf_host_delete(&env, view, key);
}

/* the first element in use from index `at` on, as index + 1; 0 if there is none */
static uint32_t next_live(const struct gpubpf_map_view *view, uint64_t at)
{
	const struct gpubpf_map_layout *l = view->layout;
	uint64_t taken = gpubpf_load_u64((uintptr_t)view->arena + l->ctl + GPUBPF_HASH_TAKEN);

	taken = taken < l->max_entries ? taken : l->max_entries;
	for (; at < taken; at++) {
		if (gpubpf_load_acquire_u32(elem_at(view, at + 1) + GPUBPF_HASH_STATE) & GPUBPF_HASH_LIVE)
			return at + 1;
	}
	return 0;
}

static int next_index(const struct gpubpf_map_view *view, const void *key, void *next)
{
	uint32_t index = UINT32_MAX;

	if (key)
		memcpy(&index, key, sizeof(index));
	if (index >= view->layout->max_entries)
		index = 0;
	else if (++index == view->layout->max_entries)
		return -ENOENT;
	memcpy(next, &index, sizeof(index));
	return 0;
}

int gpubpf_map_next_key(const struct gpubpf_map_view *view, const void *key, void *next)
{
	uint32_t at = 0;

	if (type_flags(view) & GPUBPF_MAP_RING)
		return -ENOTSUPP;
	if (type_flags(view) & GPUBPF_MAP_U32KEY)
		return next_index(view, key, next);
	if (key)
		at = find(view, key);
	at = next_live(view, at);
	if (!at)
		return -ENOENT;
	read_bytes(elem_at(view, at) + GPUBPF_HASH_KEY, next, view->layout->key_size);
	return 0;
}

static int iterate_hash(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	uint32_t at, gen;
	u64 elem;

	while ((at = next_live(view, *cursor)) != 0) {
		*cursor = at;
		elem = elem_at(view, at);
		gen = gpubpf_load_acquire_u32(elem + GPUBPF_HASH_GEN);
		read_bytes(elem + GPUBPF_HASH_KEY, key, view->layout->key_size);
		if (value)
			read_value(view->layout, value_at(view, at), value);
		gpubpf_fence();
		/* it went to another key meanwhile: that one is new, and need not be seen */
		if (!(gen & 1) && gpubpf_load_u32(elem + GPUBPF_HASH_GEN) == gen)
			return 0;
	}
	return -ENOENT;
}

int gpubpf_map_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	uint32_t index = (uint32_t)*cursor;

	if (type_flags(view) & GPUBPF_MAP_RING)
		return -ENOTSUPP;
	if (!(type_flags(view) & GPUBPF_MAP_U32KEY))
		return iterate_hash(view, cursor, key, value);
	if (*cursor >= view->layout->max_entries)
		return -ENOENT;
	memcpy(key, &index, sizeof(index));
	if (value)
		read_index(view, index, value);
	*cursor += 1;
	return 0;
}

uint64_t gpubpf_map_drops(const struct gpubpf_map_view *view)
{
	const struct gpubpf_map_layout *l = view->layout;
	u64 arena = (uintptr_t)view->arena;
	uint64_t drops = gpubpf_load_u64(arena + l->ctl);
	uint32_t c;

	drops += gpubpf_load_u64(arena + l->ctl + offsetof(struct gpubpf_map_ctl, lock_timeouts));
	for (c = 0; type_flags(view) & GPUBPF_MAP_RING && c < l->copies; c++)
		drops += gpubpf_load_u64(arena + GPUBPF_RING_COPY(l->ctl, c) + 8);
	return drops;
}
