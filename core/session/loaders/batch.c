/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the batch commands of bpf(2) on the elements of a session's map. */
#include "private.h"

#include <errno.h>
#include <stdlib.h>

struct batch {
	struct gpubpf_session *s;
	const struct gpubpf_map *map;
	uint32_t cmd, count;
	uint32_t position;
	uint64_t flags;
	const uint8_t *keys, *values;
	size_t keys_size, values_size;
	uint8_t *back_keys, *back_values;
};

/*
 * Convert a loader's batch position to the session's position. A loader's position has only 4 bytes, because its buffer
 * for a hash map's position has 4 bytes. The loader's position is a number: arena index * (max_entries + 1) + cursor in
 * the arena.
 */
static uint64_t decode_position(const struct gpubpf_map *map, uint32_t position)
{
	uint64_t each = map->max_entries + 1ull;

	return position / each << GPUBPF_BATCH_ARENA_SHIFT | position % each;
}

static uint32_t encode_position(const struct gpubpf_map *map, uint64_t position)
{
	uint64_t each = map->max_entries + 1ull, at = position & ((1ull << GPUBPF_BATCH_ARENA_SHIFT) - 1);

	at += (position >> GPUBPF_BATCH_ARENA_SHIFT) * each;
	return at < UINT32_MAX ? (uint32_t)at : UINT32_MAX;
}

static int run_batch(struct batch *b)
{
	uint64_t position = decode_position(b->map, b->position), *from = b->position ? &position : NULL, to = 0;
	int err = -EINVAL;

	switch (b->cmd) {
	case BPF_MAP_LOOKUP_BATCH:
		err = gpubpf_map__lookup_batch(b->map, from, &to, b->back_keys, b->back_values, &b->count);
		break;
	case BPF_MAP_LOOKUP_AND_DELETE_BATCH:
		err = gpubpf_map__lookup_and_delete_batch(b->map, from, &to, b->back_keys, b->back_values, &b->count);
		break;
	case BPF_MAP_UPDATE_BATCH:
		err = gpubpf_map__update_batch(b->map, b->keys, b->values, &b->count, b->flags);
		break;
	case BPF_MAP_DELETE_BATCH:
		err = gpubpf_map__delete_batch(b->map, b->keys, &b->count);
		break;
	default:
		b->count = 0;
	}
	b->position = encode_position(b->map, to);
	return err;
}

/* Returns true if the buffers are large enough for all keys and values that the batch writes or deletes. */
static bool has_all_elements(const struct batch *b)
{
	return b->keys_size >= (uint64_t)b->map->key_size * b->count &&
	       (b->cmd != BPF_MAP_UPDATE_BATCH || b->values_size >= gpubpf_map__user_value_size(b->map) * b->count);
}

static int alloc_results(struct batch *b, bool reads)
{
	uint64_t key = b->map->key_size, value = gpubpf_map__user_value_size(b->map), max_size = GPUBPF_BPF_MAX - 4096;
	int err;

	if (!(b->map->type->flags & GPUBPF_MAP_KEYED))
		return -EINVAL;
	err = sys_value_check_batch(b->s, b->map);
	if (err < 0)
		return err;
	if (!reads)
		return has_all_elements(b) ? 0 : -EPROTO;
	if (b->count > b->map->max_entries)
		/* one more than the map can hold, so that the batch ends with -ENOENT, as in bpf(2) */
		b->count = b->map->max_entries + 1;
	if (b->count > max_size / (key + value))
		b->count = (uint32_t)(max_size / (key + value));
	if (!b->count)
		return -E2BIG;
	b->back_keys = calloc(b->count + 1, key + 8);
	b->back_values = calloc(b->count + 1, value + 8);
	return b->back_keys && b->back_values ? 0 : -ENOMEM;
}

/*
 * Run the batch on the separate Linux map of this map. The Linux map's batch positions also have 4 bytes, except in a
 * trie, for which this function returns -EOPNOTSUPP.
 */
static int run_in_kernel_map(const struct sys_object *o, struct batch *b)
{
	uint32_t to = 0;
	union bpf_attr attr = {
		.batch = {
			.in_batch = b->position ? (uintptr_t)&b->position : 0, .out_batch = (uintptr_t)&to, .count = b->count,
			.keys = (uintptr_t)(b->back_keys ? b->back_keys : b->keys),
			.values = (uintptr_t)(b->back_keys ? b->back_values : b->values), .elem_flags = b->flags,
		},
	};
	int err = b->map->type->flags & GPUBPF_MAP_LAZY ? -EOPNOTSUPP : sys_shadow_batch(o, &attr, b->cmd);

	b->count = err && err != -ENOENT && err != -ENOSPC ? 0 : attr.batch.count;
	b->position = to;
	return err;
}

static int run_synchronized(struct gpubpf_session *s, const struct sys_object *o, struct batch *b)
{
	int err;

	if (sys_shadow_is_primary(o))
		return run_in_kernel_map(o, b);
	if (!b->position)
		sys_shadow_sync(s, o, NULL);
	err = run_batch(b);
	if (sys_map_writes(b->cmd))
		sys_shadow_sync(s, o, NULL);
	return err;
}

int sys_map_batch(struct sys_call *c)
{
	struct sys_object *o = sys_object_find_kind(c->s, GPUBPF_BPF_MAP, gpubpf_get_u32(c->r));
	struct batch b = { .s = c->s, .cmd = gpubpf_get_u32(c->r), .position = gpubpf_get_u32(c->r) };
	bool reads;
	int err;

	b.count = gpubpf_get_u32(c->r);
	b.keys = gpubpf_get_bytes(c->r, &b.keys_size);
	b.values = gpubpf_get_bytes(c->r, &b.values_size);
	b.flags = gpubpf_get_u64(c->r);
	if (c->r->failed)
		return -EPROTO;
	if (!o)
		return -EBADF;
	if (!sys_map_allows(o, b.cmd))
		return -EPERM;
	if (o->map.slots)
		return -524; /* ENOTSUPP, which headers for user space do not define */
	b.map = sys_map_get(c->s, o);
	reads = b.cmd == BPF_MAP_LOOKUP_BATCH || b.cmd == BPF_MAP_LOOKUP_AND_DELETE_BATCH;
	err = alloc_results(&b, reads);
	if (err)
		b.count = 0;
	else
		err = run_synchronized(c->s, o, &b);
	if (err != -EPROTO && err != -ENOMEM) {
		gpubpf_put_u32(c->out, b.count);
		gpubpf_put_u32(c->out, b.position);
		gpubpf_put_bytes(c->out, b.back_keys, reads ? (size_t)b.map->key_size * b.count : 0);
		gpubpf_put_bytes(c->out, b.back_values, reads ? gpubpf_map__user_value_size(b.map) * b.count : 0);
	}
	free(b.back_keys);
	free(b.back_values);
	return err;
}
