/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronizes maps with one value per CPU or multiprocessor. Each value belongs to one CPU or multiprocessor. Readers
 * get the values of the CPUs and of the multiprocessors, one after the other. So only keys are synchronized: a key that
 * one map inserts or deletes is also inserted or deleted in the other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

/*
 * Returns a digest of all values of a key. merge.c uses the digest as the key's value, to see whether a value has
 * changed.
 */
static uint64_t compute_digest(const uint8_t *values, size_t size)
{
	uint64_t d = 0, word = 0;

	for (size_t at = 0; at < size; at += sizeof(word)) {
		memcpy(&word, values + at, size - at < sizeof(word) ? size - at : sizeof(word));
		d = (d ^ word) * 0x9e3779b97f4a7c15ull;
		d ^= d >> 29;
	}
	return d;
}

static int each_in_arena(struct gpubpf_linux_synced_map *c, uint32_t arena, gpubpf_merge_found_fn found, void *arg)
{
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, arena, c->map);
	size_t size = gpubpf_map_user_value_size(&view);
	uint8_t *key = malloc(view.map->key_size + 8), *values = malloc(size + 8);
	uint64_t cursor = 0;
	int err = key && values ? 0 : -ENOMEM;

	while (!err) {
		err = gpubpf_map_iterate(&view, &cursor, key, values);
		if (!err)
			err = found(arg, key, &(uint64_t){ compute_digest(values, size) }, true);
	}
	free(key);
	free(values);
	return err == -ENOENT ? 0 : err;
}

static int arenas_each(void *side, gpubpf_merge_found_fn found, void *arg)
{
	struct gpubpf_linux_synced_map *c = side;
	int err = 0;

	for (uint32_t i = 0; i < gpubpf_arenas_count(c->s) && !err; i++)
		err = each_in_arena(c, i, found, arg);
	return err;
}

/* Store the digest of the values in *value (0 if err is negative), and free the values. Returns err. */
static int store_digest(uint8_t *values, size_t size, int err, void *value)
{
	uint64_t d = err ? 0 : compute_digest(values, size);

	memcpy(value, &d, sizeof(d));
	free(values);
	return err;
}

static int arenas_one(void *side, const void *key, void *value, bool *last)
{
	struct gpubpf_linux_synced_map *c = side;
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, 0, c->map);
	size_t size = gpubpf_map_user_value_size(&view);
	uint8_t *values = malloc(size + 8);
	int err = values ? gpubpf_map_lookup(&view, key, values) : -ENOMEM;

	*last = true;
	return store_digest(values, size, err, value);
}

static int arenas_insert(void *side, const void *key, const void *value)
{
	struct gpubpf_linux_synced_map *c = side;
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, 0, c->map);

	(void)value;
	gpubpf_map_mark_set(c->s, c->map);
	return gpubpf_map_update(&view, key, c->zeros, BPF_NOEXIST);
}

static int arenas_erase(void *side, const void *key)
{
	struct gpubpf_linux_synced_map *c = side;
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, 0, c->map);

	return gpubpf_map_delete(&view, key);
}

static int kernel_element(void *arg, const void *key, const void *values)
{
	struct gpubpf_linux_synced_map *c = arg;

	return c->found(c->arg, key, &(uint64_t){ compute_digest(values, gpubpf_linux_map_user_size(c->kernel)) }, true);
}

static int kernel_each(void *side, gpubpf_merge_found_fn found, void *arg)
{
	return gpubpf_linux_kernel_each(side, kernel_element, found, arg);
}

static int kernel_one(void *side, const void *key, void *value, bool *last)
{
	struct gpubpf_linux_synced_map *c = side;
	size_t size = gpubpf_linux_map_user_size(c->kernel);
	uint8_t *values = malloc(size + 8);
	int err = values ? gpubpf_linux_map_lookup(c->kernel, key, values) : -ENOMEM;

	*last = true;
	return store_digest(values, size, err, value);
}

static int kernel_insert(void *side, const void *key, const void *value)
{
	struct gpubpf_linux_synced_map *c = side;

	(void)value;
	return gpubpf_linux_map_update(c->kernel, key, c->zeros, BPF_NOEXIST);
}

static int open_percpu(struct gpubpf_linux_synced_map *c)
{
	const struct gpubpf_map *map = gpubpf_linux_get_map(c);
	const struct gpubpf_merge_side sides[2] = {
		{ .side = c, .each = arenas_each, .one = arenas_one, .insert = arenas_insert, .erase = arenas_erase },
		{ .side = c, .each = kernel_each, .one = kernel_one, .insert = kernel_insert, .erase = gpubpf_linux_kernel_erase },
	};
	const struct gpubpf_linux_map_opts kernel = { .fd = c->fd, .key_size = map->key_size, .value_size = map->value_size };
	const struct gpubpf_merge_opts opts = {
		.key_size = map->key_size,
		.value_size = sizeof(uint64_t),
		.word = sizeof(uint64_t),
		.keys_only = true,
		.evicts = map->type->flags & GPUBPF_MAP_LRU,
	};
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, 0, c->map);
	int err = gpubpf_linux_map_open(&kernel, &c->kernel);

	if (err < 0 || map->type->flags & GPUBPF_MAP_U32KEY)
		return err;
	c->zeros = calloc(1, gpubpf_map_user_value_size(&view) + gpubpf_linux_map_user_size(c->kernel));
	c->merge = c->zeros ? gpubpf_merge_new(&opts, sides) : NULL;
	return c->merge ? 0 : -ENOMEM;
}

static int sync_percpu_key(struct gpubpf_linux_synced_map *c, const void *key)
{
	if (!c->merge || gpubpf_arenas_count(c->s) > 1)
		return gpubpf_linux_merge(c);
	return gpubpf_merge_key(c->merge, key);
}

static void close_percpu(struct gpubpf_linux_synced_map *c)
{
	gpubpf_merge_free(c->merge);
	gpubpf_linux_map_close(c->kernel);
	free(c->zeros);
}

const struct gpubpf_linux_kind gpubpf_linux_percpu = { open_percpu, gpubpf_linux_merge, sync_percpu_key, close_percpu };
