/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the two sides of a map with one value per key for merge.c. Side 0 is the session's map in its arenas, side
 * 1 is the Linux map.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* -- the session's side -- */

static bool is_summed(const struct gpubpf_linux_synced_map *c)
{
	return gpubpf_map_is_summed(c->s, c->map);
}

static int each_in_arena(struct gpubpf_linux_synced_map *c, uint32_t arena, uint8_t *key, uint8_t *value)
{
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, arena, c->map);
	uint64_t cursor = 0;
	int err = 0;

	while (!err) {
		err = gpubpf_map_iterate(&view, &cursor, key, value);
		if (!err)
			err = c->found(c->arg, key, value, !arena);
	}
	return err == -ENOENT ? 0 : err;
}

/*
 * Report each key with the sum of its values over all arenas. Programs that insert keys could make the iteration
 * endless. So it stops after narenas * max_entries keys.
 */
static int each_summed(struct gpubpf_linux_synced_map *c, uint8_t *key, uint8_t *value)
{
	const struct gpubpf_map *map = gpubpf_linux_get_map(c);
	uint64_t left = (uint64_t)map->max_entries * gpubpf_arenas_count(c->s);
	uint8_t *next = value + map->value_size;
	int err = gpubpf_map__get_next_key(map, NULL, key, map->key_size);

	for (; !err && left; left--) {
		err = gpubpf_map__lookup_elem(map, key, map->key_size, value, map->value_size, 0);
		err = err ? 0 : c->found(c->arg, key, value, true);
		if (!err)
			err = gpubpf_map__get_next_key(map, key, next, map->key_size);
		if (!err)
			memcpy(key, next, map->key_size);
	}
	return err == -ENOENT ? 0 : err;
}

/*
 * Report the elements of all arenas. If the values are sums, a key in several arenas is reported once with the total.
 * Otherwise each arena reports the key, and the last arena's value counts, as in look-ups.
 */
static int arenas_each(void *side, gpubpf_merge_found_fn found, void *arg)
{
	struct gpubpf_linux_synced_map *c = side;
	const struct gpubpf_map *map = gpubpf_linux_get_map(c);
	uint8_t *key = calloc(1, map->key_size + 8), *value = calloc(1, map->value_size + map->key_size + 16);
	int err = key && value ? 0 : -ENOMEM;

	c->found = found;
	c->arg = arg;
	if (!err && is_summed(c) && gpubpf_arenas_count(c->s) > 1)
		err = each_summed(c, key, value);
	else
		for (uint32_t i = 0; i < gpubpf_arenas_count(c->s) && !err; i++)
			err = each_in_arena(c, i, key, value);
	free(key);
	free(value);
	return err;
}

/*
 * Read one key. sync_sides_key() calls it only if there is one arena or values are sums. In other cases only an
 * iteration over all arenas finds the value that counts.
 */
static int arenas_one(void *side, const void *key, void *value, bool *last)
{
	struct gpubpf_linux_synced_map *c = side;
	const struct gpubpf_map *map = gpubpf_linux_get_map(c);

	*last = true;
	return gpubpf_map__lookup_elem(map, key, map->key_size, value, map->value_size, 0);
}

static uint64_t word_of(const struct gpubpf_linux_synced_map *c, const void *value, uint32_t at)
{
	uint64_t w = 0;

	memcpy(&w, (const char *)value + at, c->word);
	return w;
}

static int arenas_add(void *side, const void *key, const void *value)
{
	struct gpubpf_linux_synced_map *c = side;
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, 0, c->map);
	int err = 0;

	for (uint32_t at = 0; at < view.map->value_size && !err; at += c->word)
		if (word_of(c, value, at))
			err = gpubpf_map_add(&view, key, at, c->word, word_of(c, value, at));
	gpubpf_map_mark_set(c->s, c->map);
	return err;
}

static int arenas_exchange(void *side, const void *key, const void *old, const void *value)
{
	struct gpubpf_linux_synced_map *c = side;
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, 0, c->map);
	int err = 0, one;

	gpubpf_map_mark_set(c->s, c->map);
	if (gpubpf_arenas_count(c->s) > 1 || !c->word)
		return gpubpf_map__update_elem(gpubpf_linux_get_map(c), key, view.map->key_size, value,
					       view.map->value_size, BPF_ANY);
	for (uint32_t at = 0; at < view.map->value_size; at += c->word) {
		if (word_of(c, old, at) == word_of(c, value, at))
			continue;
		one = gpubpf_map_exchange(&view, key, at, c->word, word_of(c, old, at), word_of(c, value, at));
		err = err || one == -EAGAIN ? err : one;
	}
	return err;
}

static int arenas_insert(void *side, const void *key, const void *value)
{
	const struct gpubpf_map *map = gpubpf_linux_get_map(side);

	return gpubpf_map__update_elem(map, key, map->key_size, value, map->value_size, BPF_NOEXIST);
}

static int arenas_erase(void *side, const void *key)
{
	const struct gpubpf_map *map = gpubpf_linux_get_map(side);

	return gpubpf_map__delete_elem(map, key, map->key_size, 0);
}

/* -- the Linux kernel's side -- */

static int kernel_element(void *arg, const void *key, const void *value)
{
	struct gpubpf_linux_synced_map *c = arg;

	return c->found(c->arg, key, value, true);
}

int gpubpf_linux_kernel_each(struct gpubpf_linux_synced_map *c, gpubpf_linux_element_fn each,
			     gpubpf_merge_found_fn found, void *arg)
{
	c->found = found;
	c->arg = arg;
	return gpubpf_linux_map_each(c->kernel, each, c);
}

static int kernel_each(void *side, gpubpf_merge_found_fn found, void *arg)
{
	return gpubpf_linux_kernel_each(side, kernel_element, found, arg);
}

static int kernel_one(void *side, const void *key, void *value, bool *last)
{
	*last = true;
	return gpubpf_linux_map_lookup(((struct gpubpf_linux_synced_map *)side)->kernel, key, value);
}

static int kernel_add(void *side, const void *key, const void *value)
{
	return gpubpf_linux_map_add(((struct gpubpf_linux_synced_map *)side)->kernel, key, value);
}

static int kernel_exchange(void *side, const void *key, const void *old, const void *value)
{
	return gpubpf_linux_map_exchange(((struct gpubpf_linux_synced_map *)side)->kernel, key, old, value);
}

static int kernel_insert(void *side, const void *key, const void *value)
{
	return gpubpf_linux_map_update(((struct gpubpf_linux_synced_map *)side)->kernel, key, value, BPF_NOEXIST);
}

int gpubpf_linux_kernel_erase(void *side, const void *key)
{
	return gpubpf_linux_map_delete(((struct gpubpf_linux_synced_map *)side)->kernel, key);
}

/* -- opening -- */

static uint32_t word_size(const struct gpubpf_session *s, uint32_t map)
{
	uint32_t size = gpubpf_session_unit(s)->maps[map].value_size;

	if (gpubpf_map_is_summed(s, map))
		return gpubpf_session_map_use(s)[map] & GPUBPF_USE_ADD4 ? 4 : 8;
	return size / 4 > GPUBPF_LINUX_WORDS ? 0 : size % 8 ? size % 4 ? 0 : 4 : 8;
}

static int open_sides(struct gpubpf_linux_synced_map *c)
{
	const struct gpubpf_map *map = gpubpf_linux_get_map(c);
	const struct gpubpf_merge_side sides[2] = {
		{ c, arenas_each, arenas_one, arenas_add, arenas_exchange, arenas_insert, arenas_erase },
		{ c, kernel_each, kernel_one, kernel_add, kernel_exchange, kernel_insert, gpubpf_linux_kernel_erase },
	};
	struct gpubpf_linux_map_opts kernel = { .fd = c->fd, .key_size = map->key_size, .value_size = map->value_size };
	struct gpubpf_merge_opts opts = {
		.key_size = map->key_size,
		.value_size = map->value_size,
		.sums = is_summed(c),
		.evicts = map->type->flags & GPUBPF_MAP_LRU,
	};

	c->word = kernel.word = word_size(c->s, c->map);
	opts.word = c->word ? c->word : map->value_size;
	if (opts.sums && map->value_size / c->word > GPUBPF_LINUX_WORDS)
		return -E2BIG;
	c->merge = gpubpf_merge_new(&opts, sides);
	return c->merge ? gpubpf_linux_map_open(&kernel, &c->kernel) : -ENOMEM;
}

static int sync_sides_key(struct gpubpf_linux_synced_map *c, const void *key)
{
	return is_summed(c) || gpubpf_arenas_count(c->s) == 1 ? gpubpf_merge_key(c->merge, key) : gpubpf_linux_merge(c);
}

static void close_sides(struct gpubpf_linux_synced_map *c)
{
	gpubpf_merge_free(c->merge);
	gpubpf_linux_map_close(c->kernel);
}

const struct gpubpf_linux_kind gpubpf_linux_keyed = { open_sides, gpubpf_linux_merge, sync_sides_key, close_sides };
