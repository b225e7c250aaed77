/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the operations of the host on hash tables (hash.h). Changes call the functions of the device library;
 * reads sum the copies of a value.
 */
#include "maps/impl.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "maps/host/host.h"

#define READ_TRIES 64

static int hash_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	if (!map->key_size || map->key_size > GPUBPF_MAP_KEY_MAX)
		return gpubpf_map_set_fault(fault, "key_size", map->key_size, "1 to 512");
	if (!map->value_size || map->value_size > GPUBPF_MAP_VALUE_MAX)
		return gpubpf_map_set_fault(fault, "value_size", map->value_size, "1 to 67108864");
	return 0;
}

static void hash_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	uint64_t key = gpubpf_align(l->key_size, 8), value = gpubpf_align(l->value_size, 8);
	uint64_t values = gpubpf_align(l->max_entries * value, GPUBPF_REPLICA_ALIGN);
	uint64_t elems, buckets = GPUBPF_HASH_BUCKETS + 8ull * gpubpf_hash_nbuckets(l->max_entries);

	if (map->type->flags & GPUBPF_MAP_COPIES)
		l->flags |= GPUBPF_LAYOUT_COPIES;
	if (map->type->flags & GPUBPF_MAP_COPIES || gpubpf_map_merge_copies(l, scale, values))
		l->copies = scale->replicas;
	l->copy_stride = l->copies > 1 ? values : 0;
	l->stride = gpubpf_align(GPUBPF_HASH_VALUE(key) + (l->copies > 1 ? 0 : value), GPUBPF_HASH_ALIGN);
	elems = l->max_entries * l->stride;
	/* the elements end at a cache line boundary, so that they share no line with copies of values */
	l->data = gpubpf_align(l->ctl + buckets + elems, GPUBPF_REPLICA_ALIGN) - elems;
	l->size = l->data - l->ctl + elems + l->copies * l->copy_stride;
	if (map->type->flags & GPUBPF_MAP_LRU) {
		l->flags |= GPUBPF_LAYOUT_LRU | GPUBPF_LAYOUT_DELETES;
		l->size += gpubpf_align(4ull * l->max_entries, 8);
	}
}

static int64_t hash_where(const struct gpubpf_map_layout *l, uint64_t off, uint64_t size)
{
	uint64_t values = l->data + l->max_entries * l->stride, value = GPUBPF_ROUND8(l->value_size);
	int64_t at;

	if (l->copies > 1) {
		if (off < values || (off - values) / l->copy_stride >= l->copies)
			return -1;
		off = (off - values) % l->copy_stride;
		return off / value < l->max_entries ? gpubpf_map_in_value(off, size, value, l->value_size) : -1;
	}
	if (off < l->data || off >= values)
		return -1;
	at = (int64_t)((off - l->data) % l->stride) - GPUBPF_HASH_VALUE(l->key_size);
	return at >= 0 && at < (int64_t)value ? gpubpf_map_in_value(at, size, value, l->value_size) : -1;
}

/* Return the index + 1 of the element of a key, or 0 if the key does not exist. */
static uint32_t find(const struct gpubpf_map_view *view, const void *key)
{
	const struct gpubpf_map_layout *l = view->layout;
	uint32_t bucket = gpubpf_hash_bucket(key, l->key_size, l->max_entries), tries, at;
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };
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

static u64 value_at(const struct gpubpf_map_view *view, uint32_t at, uint32_t copy)
{
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };

	return gpubpf_hash_value_at(&env, GPUBPF_LAYOUT_PASS(view->layout), at, copy);
}

/* Read the value of an element: the sum of its copies, or the values of all multiprocessors one after another. */
static void read_element(const struct gpubpf_map_view *view, uint32_t at, void *to)
{
	const struct gpubpf_map_layout *l = view->layout;
	uint32_t c;

	if (!(l->flags & GPUBPF_LAYOUT_COPIES)) {
		gpubpf_map_read_value(l, value_at(view, at, 0), to);
		return;
	}
	memset(to, 0, gpubpf_map_user_value_size(view));
	for (c = 0; c < l->copies; c++)
		gpubpf_map_read_bytes(value_at(view, at, c), (char *)to + (size_t)c * GPUBPF_ROUND8(l->value_size),
				      l->value_size);
}

/*
 * Reads the value of a key. The generation of the element is compared before and after, because the element may be
 * reused for another key during the read.
 */
static int hash_read(const struct gpubpf_map_view *view, const void *key, void *to)
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
		read_element(view, at, to);
		gpubpf_fence();
		again = gpubpf_load_u32(elem + GPUBPF_HASH_GEN);
		if (again == gen)
			return 0;
	}
	return -EBUSY;
}

static int hash_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };
	struct gpubpf_map_layout l = *view->layout;

	if (l.flags & GPUBPF_LAYOUT_COPIES)
		l.flags |= GPUBPF_LAYOUT_ALL_COPIES;
	return (int)gpubpf_hash_update(&env, GPUBPF_LAYOUT_PASS(&l), key, value, flags);
}

static int hash_erase(const struct gpubpf_map_view *view, const void *key)
{
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };

	return (int)gpubpf_host_delete(&env, view, key);
}

static int hash_take(const struct gpubpf_map_view *view, const void *key, void *value)
{
	int err = hash_read(view, key, value);

	return err ? err : hash_erase(view, key);
}

/* Return the index + 1 of the first element in use from index `at` on, or 0 if there is none. */
static uint32_t next_live(const struct gpubpf_map_view *view, uint64_t at)
{
	const struct gpubpf_map_layout *l = view->layout;
	uint64_t taken = gpubpf_load_u64((uintptr_t)view->arena + l->ctl + GPUBPF_HASH_TAKEN);

	taken = taken < l->max_entries ? taken : l->max_entries;
	for (; at < taken; at++) {
		if (gpubpf_load_acquire_u32(elem_at(view, at + 1) + GPUBPF_HASH_STATE(view->layout->key_size)) &
		    GPUBPF_HASH_LIVE)
			return at + 1;
	}
	return 0;
}

static bool hash_stayed(const struct gpubpf_map_view *view, const struct gpubpf_map_view *then, const void *key)
{
	uint32_t at = find(then, key);

	return at && at == find(view, key) &&
	       gpubpf_load_u32(elem_at(view, at) + GPUBPF_HASH_GEN) ==
		       gpubpf_load_u32(elem_at(then, at) + GPUBPF_HASH_GEN);
}

static int hash_next(const struct gpubpf_map_view *view, const void *key, void *next)
{
	uint32_t at = next_live(view, key ? find(view, key) : 0);

	if (!at)
		return -ENOENT;
	gpubpf_map_read_bytes(elem_at(view, at) + GPUBPF_HASH_KEY, next, view->layout->key_size);
	return 0;
}

static int hash_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	uint32_t at, gen;
	u64 elem;

	while ((at = next_live(view, *cursor)) != 0) {
		*cursor = at;
		elem = elem_at(view, at);
		gen = gpubpf_load_acquire_u32(elem + GPUBPF_HASH_GEN);
		gpubpf_map_read_bytes(elem + GPUBPF_HASH_KEY, key, view->layout->key_size);
		if (value)
			read_element(view, at, value);
		gpubpf_fence();
		/* An element that was reused has a new key, which an iteration may skip. */
		if (!(gen & 1) && gpubpf_load_u32(elem + GPUBPF_HASH_GEN) == gen)
			return 0;
	}
	return -ENOENT;
}

HOST_OP(hash, lookup, HOST_PTR(arg[0]))
HOST_OP(hash, update, HOST_PTR(arg[0]), HOST_PTR(arg[1]), arg[2])
HOST_OP(hash, delete, HOST_PTR(arg[0]))
HOST_OP(hash, each, (u64 *)HOST_PTR(arg[0]), HOST_PTR(arg[1]))

const struct gpubpf_map_impl gpubpf_hash_impl = {
	.name = "hash",
	.large = true,
	.has_glance = true,
	.map_flags = BPF_F_NO_PREALLOC | BPF_F_NO_COMMON_LRU | BPF_F_ZERO_SEED,
	.check = hash_check,
	.size = hash_size,
	.where = hash_where,
	.read = hash_read,
	.write = hash_write,
	.erase = hash_erase,
	.take = hash_take,
	.next = hash_next,
	.iterate = hash_iterate,
	.is_same_element = hash_stayed,
	.op[GPUBPF_OP_LOOKUP] = hash_lookup,
	.op[GPUBPF_OP_UPDATE] = hash_update,
	.op[GPUBPF_OP_DELETE] = hash_delete,
	.op[GPUBPF_OP_FOR_EACH] = hash_each,
};
