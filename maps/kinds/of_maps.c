/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the operations of the host on maps of maps (of_maps.h). A value is the number of a map. Callers have
 * checked that this map may be an element.
 */
#include "maps/impl.h"

#include <assert.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>

#include "core/model/facts.h"
#include "maps/host/host.h"

_Static_assert(GPUBPF_OF_MAPS_POINTER == GPUBPF_PTR_MAP, "one number");
_Static_assert(GPUBPF_ROW_SIZE == sizeof(struct gpubpf_map_layout) &&
		       GPUBPF_ROW_CTL == offsetof(struct gpubpf_map_layout, ctl) &&
		       GPUBPF_ROW_DATA == offsetof(struct gpubpf_map_layout, data),
	       "rows of an arena");

static int check_values(const struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	if (map->value_size != 4)
		return gpubpf_map_set_fault(fault, "value_size", map->value_size, "4 (a map)");
	return map->inner ? 0 :
			    gpubpf_map_set_fault(fault, "inner map", 0, "given by __array(values, ...) or inner_map_fd");
}

/* Returns -1, because programs cannot have addresses of these values. */
static int64_t of_maps_where(const struct gpubpf_map_layout *l, uint64_t off, uint64_t size)
{
	return -1;
}

/* -- arrays -- */

static int array_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	int err = gpubpf_array_check(map, fault);

	return err ? err : check_values(map, fault);
}

static void array_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	gpubpf_array_impl.size(l, map, scale);
}

static int array_read(const struct gpubpf_map_view *view, const void *key, void *value)
{
	uint32_t number;
	int err = gpubpf_array_read(view, key, &number);

	if (!err && !number)
		err = -ENOENT;
	if (!err)
		memcpy(value, &number, sizeof(number));
	return err;
}

static int array_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };

	return flags != GPUBPF_ANY ? -EINVAL :
				     (int)gpubpf_array_update(&env, GPUBPF_LAYOUT_PASS(view->layout), key, value, flags);
}

static int array_erase(const struct gpubpf_map_view *view, const void *key)
{
	static const uint32_t none;
	uint32_t index, number;

	memcpy(&index, key, sizeof(index));
	if (index >= view->layout->max_entries)
		return -E2BIG;
	return array_read(view, key, &number) ? -ENOENT : array_write(view, key, &none, GPUBPF_ANY);
}

/* Iterates over the elements that have a map. */
static int array_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	uint32_t number = 0;
	int err = 0;

	while (!err && !number)
		err = gpubpf_array_iterate(view, cursor, key, &number);
	if (!err && value)
		memcpy(value, &number, sizeof(number));
	return err;
}

/* -- hash tables -- */

static int hash_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	int err = gpubpf_hash_impl.check(map, fault);

	return err ? err : check_values(map, fault);
}

/* Lays out the hash table. GPUBPF_LAYOUT_DELETES is set, because the host deletes keys while lanes look them up. */
static void hash_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	l->flags |= GPUBPF_LAYOUT_DELETES;
	gpubpf_hash_impl.size(l, map, scale);
}

static int hash_read(const struct gpubpf_map_view *view, const void *key, void *value)
{
	return gpubpf_hash_impl.read(view, key, value);
}

static int hash_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	return gpubpf_hash_impl.write(view, key, value, flags);
}

static int hash_erase(const struct gpubpf_map_view *view, const void *key)
{
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };

	return (int)gpubpf_hash_delete(&env, GPUBPF_LAYOUT_PASS(view->layout), key);
}

static int hash_next(const struct gpubpf_map_view *view, const void *key, void *next)
{
	return gpubpf_hash_impl.next(view, key, next);
}

static int hash_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	return gpubpf_hash_impl.iterate(view, cursor, key, value);
}

/* -- functions of both types -- */

static void of_maps_init(void *arena, const struct gpubpf_map *map, const struct gpubpf_map_layout *l)
{
	const struct gpubpf_map_view view = { arena, map, l };

	for (uint32_t i = 0; i < map->nelements; i++) {
		uint32_t number = map->elements[i].map + 1;
		u64 key[GPUBPF_MAP_KEY_MAX / 8] = { map->elements[i].key };

		map->type->impl->write(&view, key, &number, GPUBPF_ANY);
	}
}

HOST_OP(array_of_maps, lookup, HOST_PTR(arg[0]))
HOST_OP(hash_of_maps, lookup, HOST_PTR(arg[0]))

const struct gpubpf_map_impl gpubpf_array_of_maps_impl = {
	.name = "array_of_maps",
	.check = array_check,
	.size = array_size,
	.init = of_maps_init,
	.where = of_maps_where,
	.read = array_read,
	.write = array_write,
	.erase = array_erase,
	.next = gpubpf_array_next,
	.iterate = array_iterate,
	.op[GPUBPF_OP_LOOKUP] = array_of_maps_lookup,
};

const struct gpubpf_map_impl gpubpf_hash_of_maps_impl = {
	.name = "hash_of_maps",
	.large = true,
	.map_flags = BPF_F_NO_PREALLOC | BPF_F_ZERO_SEED,
	.check = hash_check,
	.size = hash_size,
	.init = of_maps_init,
	.where = of_maps_where,
	.read = hash_read,
	.write = hash_write,
	.erase = hash_erase,
	.next = hash_next,
	.iterate = hash_iterate,
	.op[GPUBPF_OP_LOOKUP] = hash_of_maps_lookup,
};
