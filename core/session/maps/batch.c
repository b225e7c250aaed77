/* SPDX-License-Identifier: Apache-2.0 */
/* Implements batch operations as in bpf(2), and atomic adds to values. */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A batch operation: its position and its output buffers. The position is the arena's index and the cursor in that
 * arena.
 */
struct batch {
	const struct gpubpf_map *map;
	uint64_t position;
	uint8_t *keys, *values;
	uint32_t n;
	void *scratch;
};

static uint8_t *get_key(const struct batch *b, uint32_t i)
{
	return b->keys + (size_t)i * b->map->key_size;
}

static uint8_t *get_value(const struct batch *b, uint32_t i)
{
	return b->values + (size_t)i * gpubpf_map__user_value_size(b->map);
}

static bool has_keys(const struct gpubpf_map *map)
{
	return map->type->flags & GPUBPF_MAP_KEYED;
}

/*
 * Get the key of the next element, or return -ENOENT. Each key is returned once: first the keys of arena 0, then the
 * keys of each later arena that no earlier arena has.
 */
static int find_next_key(struct batch *b, bool all, void *key)
{
	uint32_t arenas = all && !(b->map->type->flags & GPUBPF_MAP_U32KEY) ? b->map->session->maps->narenas : 1;
	int err = -ENOENT;

	for (uint32_t i = b->position >> GPUBPF_BATCH_ARENA_SHIFT; i < arenas && err == -ENOENT; i++) {
		struct gpubpf_map_view view = gpubpf_arena_view(b->map->session, i, gpubpf_map_index(b->map));
		uint64_t cursor = i == b->position >> GPUBPF_BATCH_ARENA_SHIFT ?
					  b->position & ((1ull << GPUBPF_BATCH_ARENA_SHIFT) - 1) :
					  0;

		do
			err = gpubpf_map_iterate(&view, &cursor, key, NULL);
		while (!err && gpubpf_map_has_in_earlier_arena(b->map, i, key, b->scratch));
		b->position = (uint64_t)i << GPUBPF_BATCH_ARENA_SHIFT | cursor;
	}
	return err;
}

/* Copy up to `max` values of an array at once. It does so only if the values are contiguous and in one arena. */
static void fill_run(struct batch *b, uint32_t max)
{
	const struct gpubpf_session *s = b->map->session;
	uint32_t index = gpubpf_map_index(b->map), first = (uint32_t)b->position;
	struct gpubpf_map_view view = gpubpf_arena_view(s, s->maps->narenas - 1, index);
	uint8_t *keys = b->keys;

	if (b->position > UINT32_MAX || !(b->map->type->flags & GPUBPF_MAP_U32KEY) ||
	    gpubpf_map_user_value_size(&view) != gpubpf_map__user_value_size(b->map) ||
	    (s->maps->narenas > 1 && gpubpf_map_is_merged(s, index)))
		return;
	b->n = gpubpf_map_read_run(&view, first, max, b->values);
	for (uint32_t i = 0, n = b->n; i < n; i++)
		memcpy(keys + i * sizeof(first), &(uint32_t){ first + i }, sizeof(first));
	b->position += b->n;
}

int gpubpf_map__memory(const struct gpubpf_map *map, const void **values, size_t *stride)
{
	const struct gpubpf_session *s = map->session;
	uint32_t index = gpubpf_map_index(map);
	struct gpubpf_map_view view = gpubpf_arena_view(s, s->maps->narenas - 1, index);
	const void *at = gpubpf_map_values(&view);

	if (!(map->type->flags & GPUBPF_MAP_U32KEY) || gpubpf_map_holds_objects(map))
		return -EINVAL;
	if (!at || (s->maps->narenas > 1 && gpubpf_map_is_merged(s, index)))
		return -EOPNOTSUPP;
	*values = at;
	*stride = view.layout->stride;
	return 0;
}

/* Fill the batch with up to `max` elements. Skip elements that a program deletes at the same time. */
static int fill(struct batch *b, uint32_t max, bool deletes)
{
	size_t size = gpubpf_map__user_value_size(b->map);
	int err = 0;

	if (!deletes)
		fill_run(b, max);
	while (b->n < max && !err) {
		uint8_t *key = get_key(b, b->n), *value = get_value(b, b->n);

		err = find_next_key(b, !deletes, key);
		if (err)
			break;
		err = deletes ? gpubpf_map__lookup_and_delete_elem(b->map, key, b->map->key_size, value, size, 0) :
				gpubpf_map__lookup_elem(b->map, key, b->map->key_size, value, size, 0);
		b->n += !err;
		if (err == -ENOENT)
			err = 0;
	}
	return err;
}

static int run_lookup(const struct gpubpf_map *map, const uint64_t *in_batch, uint64_t *out_batch, void *keys,
		      void *values, uint32_t *count, bool deletes)
{
	struct batch b = { .map = map, .position = in_batch ? *in_batch : 0, .keys = keys, .values = values };
	uint32_t max = *count;
	int err;

	*count = 0;
	if (!has_keys(map) || (deletes && map->type->flags & GPUBPF_MAP_U32KEY))
		return -EINVAL;
	b.scratch = malloc(gpubpf_map_scratch_size(map));
	if (!b.scratch)
		return -ENOMEM;
	err = fill(&b, max, deletes);
	free(b.scratch);
	*count = b.n;
	*out_batch = b.position;
	return gpubpf_map_user_error(err);
}

int gpubpf_map__lookup_batch(const struct gpubpf_map *map, const uint64_t *in_batch, uint64_t *out_batch, void *keys,
			     void *values, uint32_t *count)
{
	return run_lookup(map, in_batch, out_batch, keys, values, count, false);
}

int gpubpf_map__lookup_and_delete_batch(const struct gpubpf_map *map, const uint64_t *in_batch, uint64_t *out_batch,
					void *keys, void *values, uint32_t *count)
{
	return run_lookup(map, in_batch, out_batch, keys, values, count, true);
}

int gpubpf_map__update_batch(const struct gpubpf_map *map, const void *keys, const void *values, uint32_t *count,
			     uint64_t flags)
{
	const struct batch b = { .map = map, .keys = (uint8_t *)keys, .values = (uint8_t *)values };
	uint32_t max = *count;
	int err = has_keys(map) ? 0 : -EINVAL;

	for (*count = 0; *count < max && !err; *count += !err)
		err = gpubpf_map__update_elem(map, get_key(&b, *count), map->key_size, get_value(&b, *count),
					      gpubpf_map__user_value_size(map), flags);
	return err;
}

int gpubpf_map__delete_batch(const struct gpubpf_map *map, const void *keys, uint32_t *count)
{
	const struct batch b = { .map = map, .keys = (uint8_t *)keys };
	uint32_t max = *count;
	int err = has_keys(map) ? 0 : -EINVAL;

	for (*count = 0; *count < max && !err; *count += !err)
		err = gpubpf_map__delete_elem(map, get_key(&b, *count), map->key_size, 0);
	return err;
}

int gpubpf_map__add(const struct gpubpf_map *map, const void *key, size_t key_sz, size_t offset, size_t size, uint64_t n)
{
	const struct gpubpf_session *s = map->session;
	uint32_t index = gpubpf_map_index(map);
	struct gpubpf_map_view view = gpubpf_arena_view(s, 0, index);

	if (key_sz != map->key_size || !has_keys(map) || offset > map->value_size || size > sizeof(n))
		return -EINVAL;
	if (s->maps->narenas > 1 && !gpubpf_map_is_summed(s, index))
		return -EOPNOTSUPP;
	map->session->maps->set[index] = true;
	return gpubpf_map_add(&view, key, (uint32_t)offset, (uint32_t)size, n);
}
