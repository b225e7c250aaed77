/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the public functions for maps. Each operation works on the map in all arenas. */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "synced.h"

struct gpubpf_map *gpubpf_session__next_map(const struct gpubpf_session *s, const struct gpubpf_map *prev)
{
	struct gpubpf_unit *unit = gpubpf_session_unit(s);
	uint32_t next = prev ? gpubpf_map_index(prev) + 1 : 0;

	while (unit && next < unit->nmaps && unit->maps[next].prototype)
		next++;
	return unit && next < unit->nmaps ? &unit->maps[next] : NULL;
}

struct gpubpf_map *gpubpf_session__find_map_by_name(const struct gpubpf_session *s, const char *name)
{
	struct gpubpf_map *map = NULL;

	while ((map = gpubpf_session__next_map(s, map)))
		if (!strcmp(map->name, name))
			return map;
	errno = ENOENT;
	return NULL;
}

const char *gpubpf_map__name(const struct gpubpf_map *map)
{
	return map->name;
}

uint32_t gpubpf_map__type(const struct gpubpf_map *map)
{
	return map->type->number;
}

uint32_t gpubpf_map__number(const struct gpubpf_map *map)
{
	return gpubpf_map_index(map) + 1;
}

const char *gpubpf_map__type_str(const struct gpubpf_map *map)
{
	return map->type->name;
}

uint32_t gpubpf_map__key_size(const struct gpubpf_map *map)
{
	return map->key_size;
}

uint32_t gpubpf_map__value_size(const struct gpubpf_map *map)
{
	return map->value_size;
}

uint32_t gpubpf_map__max_entries(const struct gpubpf_map *map)
{
	return map->max_entries;
}

/* Returns true if, for each key, each arena has one value per multiprocessor of its device. */
bool gpubpf_map_is_percpu(const struct gpubpf_map *map)
{
	return (map->type->flags & (GPUBPF_MAP_COPIES | GPUBPF_MAP_THREAD)) == GPUBPF_MAP_COPIES;
}

size_t gpubpf_map__user_value_size(const struct gpubpf_map *map)
{
	uint32_t n = gpubpf_map_is_percpu(map) ? map->session->maps->narenas : 1;
	size_t size = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct gpubpf_map_view view = gpubpf_arena_view(map->session, i, gpubpf_map_index(map));

		size += gpubpf_map_user_value_size(&view);
	}
	return size + gpubpf_linux_cpus_size(map->session, gpubpf_map_index(map));
}

uint64_t gpubpf_map__drops(const struct gpubpf_map *map)
{
	uint64_t drops = 0;

	for (uint32_t i = 0; i < map->session->maps->narenas; i++) {
		struct gpubpf_map_view view = gpubpf_arena_view(map->session, i, gpubpf_map_index(map));

		drops += gpubpf_map_drops(&view);
	}
	return drops + gpubpf_linux_rings_lost(map->session, gpubpf_map_index(map));
}

void gpubpf_sum_add(const struct gpubpf_map *map, void *sum, const void *value, size_t size, bool minus)
{
	size_t word = gpubpf_session_map_use(map->session)[gpubpf_map_index(map)] & GPUBPF_USE_ADD4 ? 4 : 8;

	for (size_t at = 0; at + word <= size; at += word) {
		uint64_t a = 0, b = 0;

		memcpy(&a, (char *)sum + at, word);
		memcpy(&b, (const char *)value + at, word);
		a = minus ? a - b : a + b;
		memcpy((char *)sum + at, &a, word);
	}
}

static void take_maxima(void *maxima, const void *value, size_t size)
{
	for (size_t at = 0; at + 8 <= size; at += 8) {
		uint64_t a, b;

		memcpy(&a, (char *)maxima + at, sizeof(a));
		memcpy(&b, (const char *)value + at, sizeof(b));
		memcpy((char *)maxima + at, a > b ? &a : &b, sizeof(a));
	}
}

/* Take the maxima of the key's values of all arenas. Returns -ENOENT if no arena has the key. */
static int lookup_maxima(const struct gpubpf_map *map, const void *key, void *value, size_t size)
{
	void *one = malloc(size);
	int err = -ENOENT;

	if (!one)
		return -ENOMEM;
	memset(value, 0, size);
	for (uint32_t i = 0; i < map->session->maps->narenas; i++) {
		struct gpubpf_map_view view = gpubpf_arena_view(map->session, i, gpubpf_map_index(map));

		if (gpubpf_map_lookup(&view, key, one) < 0)
			continue;
		take_maxima(value, one, size);
		err = 0;
	}
	free(one);
	return err;
}

/*
 * Add up the key's values of all arenas. Subtract the values that the arena had when its device joined (arena.initial),
 * unless the device has since deleted that element. Returns -ENOENT if no arena has the key.
 */
static int lookup_sum(const struct gpubpf_map *map, const void *key, void *value, size_t size)
{
	const struct gpubpf_session *s = map->session;
	void *one = malloc(size);
	int err = -ENOENT;

	if (!one)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->maps->narenas; i++) {
		struct gpubpf_map_view view = gpubpf_arena_view(s, i, gpubpf_map_index(map)), initial = view;

		if (gpubpf_map_lookup(&view, key, one) < 0)
			continue;
		if (err < 0)
			memset(value, 0, size);
		err = 0;
		gpubpf_sum_add(map, value, one, size, false);
		initial.arena = s->maps->arenas[i].initial;
		if (initial.arena && gpubpf_map_is_same_element(&view, &initial, key) &&
		    !gpubpf_map_lookup(&initial, key, one))
			gpubpf_sum_add(map, value, one, size, true);
	}
	free(one);
	return err;
}

/*
 * Concatenate the values of all arenas. The values of the CPUs follow the values of arena 0. If an arena or the Linux
 * map lacks the key, its values are 0.
 */
static int lookup_all(const struct gpubpf_map *map, const void *key, uint8_t *value, size_t size)
{
	size_t cpus = gpubpf_linux_cpus_size(map->session, gpubpf_map_index(map));
	int found = -ENOENT, err = 0;

	memset(value, 0, size);
	for (uint32_t i = 0; i < map->session->maps->narenas && (!err || err == -ENOENT); i++) {
		struct gpubpf_map_view view = gpubpf_arena_view(map->session, i, gpubpf_map_index(map));

		err = gpubpf_map_lookup(&view, key, value);
		found = err ? found : 0;
		value += gpubpf_map_user_value_size(&view);
		if (!i && cpus && !gpubpf_linux_cpus_lookup(map->session, gpubpf_map_index(map), key, value))
			found = 0;
		value += i ? 0 : cpus;
	}
	return err && err != -ENOENT ? err : found;
}

int gpubpf_map_user_error(int err)
{
	return err == -524 ? -EINVAL : err;
}

int gpubpf_map__lookup_elem(const struct gpubpf_map *map, const void *key, size_t key_sz, void *value, size_t value_sz,
			    uint64_t flags)
{
	const struct gpubpf_session *s = map->session;
	int err = -ENOENT;

	if (key_sz != map->key_size || value_sz != gpubpf_map__user_value_size(map) || flags)
		return -EINVAL;
	if (gpubpf_map_is_percpu(map))
		return gpubpf_map_user_error(lookup_all(map, key, value, value_sz));
	if (!key_sz && !gpubpf_linux_queue_next(s, gpubpf_map_index(map), false, value))
		return 0;
	if (s->maps->narenas > 1 && !(map->type->flags & GPUBPF_MAP_THREAD) &&
	    gpubpf_map_is_summed(s, gpubpf_map_index(map)))
		return lookup_sum(map, key, value, value_sz);
	if (s->maps->narenas > 1 && gpubpf_map_has_maxima(s, gpubpf_map_index(map)))
		return lookup_maxima(map, key, value, value_sz);
	for (uint32_t i = s->maps->narenas; err == -ENOENT && i-- > 0;) {
		struct gpubpf_map_view view = gpubpf_arena_view(s, i, gpubpf_map_index(map));

		if (gpubpf_map_user_value_size(&view) == value_sz)
			err = gpubpf_map_lookup(&view, key, value);
	}
	return gpubpf_map_user_error(err);
}

int gpubpf_map__lookup_and_delete_elem(const struct gpubpf_map *map, const void *key, size_t key_sz, void *value,
				       size_t value_sz, uint64_t flags)
{
	struct gpubpf_map_view view = gpubpf_arena_view(map->session, 0, gpubpf_map_index(map));
	size_t own = gpubpf_map_user_value_size(&view);
	int err;

	if (key_sz != map->key_size || value_sz != gpubpf_map__user_value_size(map) || flags)
		return -EINVAL;
	memset(value, 0, value_sz);
	if (!key_sz && !gpubpf_linux_queue_next(map->session, gpubpf_map_index(map), true, value))
		return 0;
	for (uint32_t i = 1; i < map->session->maps->narenas; i++)
		if (gpubpf_placement_sees_host_writes(map->session, i, gpubpf_map_index(map)))
			view = gpubpf_arena_view(map->session, i, gpubpf_map_index(map));
	err = gpubpf_map_lookup_and_delete(&view, key, value);
	if (!err && gpubpf_linux_cpus_size(map->session, gpubpf_map_index(map))) {
		gpubpf_linux_cpus_lookup(map->session, gpubpf_map_index(map), key, (uint8_t *)value + own);
		gpubpf_linux_cpus_delete(map->session, gpubpf_map_index(map), key);
	}
	return gpubpf_map_user_error(err);
}

/*
 * Returns true if the session's map with that number can be an element of the map of maps. It must have the prototype's
 * definition, all uses of the prototype, and a compatible layout in all arenas. The layout may be incompatible if the
 * element was laid out before the map of maps joined the session.
 */
static bool accepts_map(const struct gpubpf_map *map, uint32_t number)
{
	const struct gpubpf_session *s = map->session;
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	uint32_t prototype = map->inner - 1, inner = number - 1;
	bool is_alike = number && number <= unit->nmaps && !unit->maps[inner].prototype &&
			gpubpf_map_is_like(&unit->maps[inner], &unit->maps[prototype]);

	is_alike = is_alike && !(gpubpf_session_map_use(s)[prototype] & ~gpubpf_session_map_use(s)[inner]);
	for (uint32_t i = 0; i < s->maps->narenas && is_alike; i++)
		is_alike = gpubpf_layout_is_compatible(&s->maps->arenas[i].layout.maps[inner],
						       &s->maps->arenas[i].layout.maps[prototype]);
	return is_alike;
}

bool gpubpf_map_accepts_element(const struct gpubpf_map *map, uint32_t number)
{
	bool may = false;

	for (uint32_t i = 0; i < map->ntargets; i++)
		may |= map->targets[i].number == number;
	return map->inner ? accepts_map(map, number) : may;
}

static int check_element(const struct gpubpf_map *map, const void *value)
{
	uint32_t number;

	memcpy(&number, value, sizeof(number));
	return gpubpf_map_accepts_element(map, number) ? 0 : -EINVAL;
}

/*
 * Update the map on devices whose programs see the host's writes, before the host changes its own values. Sets *any to
 * true if there is such a device; the caller then returns this function's result. For values per multiprocessor,
 * `value` has the values of all arenas.
 */
static int update_devices(const struct gpubpf_map *map, const void *key, const uint8_t *value, uint64_t flags, bool *any)
{
	const struct gpubpf_session *s = map->session;
	int err = 0;

	for (uint32_t i = 0; i < s->maps->narenas && !err; i++) {
		struct gpubpf_map_view view = gpubpf_arena_view(s, i, gpubpf_map_index(map));

		if (gpubpf_placement_sees_host_writes(s, i, gpubpf_map_index(map))) {
			err = gpubpf_map_update(&view, key, value, flags);
			*any = true;
		}
		value += gpubpf_map_is_percpu(map) ? gpubpf_map_user_value_size(&view) : 0;
		value += i ? 0 : gpubpf_linux_cpus_size(s, gpubpf_map_index(map));
	}
	return err;
}

static int delete_devices(const struct gpubpf_map *map, const void *key, bool *any)
{
	const struct gpubpf_session *s = map->session;
	int err = 0;

	for (uint32_t i = 0; i < s->maps->narenas; i++) {
		struct gpubpf_map_view view = gpubpf_arena_view(s, i, gpubpf_map_index(map));
		bool reaches = gpubpf_placement_sees_host_writes(s, i, gpubpf_map_index(map));
		int one = reaches ? gpubpf_map_delete(&view, key) : 0;

		*any |= reaches;
		err = err ? err : one;
	}
	return err;
}

int gpubpf_map__update_elem(const struct gpubpf_map *map, const void *key, size_t key_sz, const void *value,
			    size_t value_sz, uint64_t flags)
{
	struct gpubpf_map_view view = gpubpf_arena_view(map->session, 0, gpubpf_map_index(map));
	bool devices = false;
	int err;

	if (key_sz != map->key_size || value_sz != gpubpf_map__user_value_size(map) ||
	    (gpubpf_map_holds_objects(map) && check_element(map, value) < 0))
		return -EINVAL;
	map->session->maps->set[gpubpf_map_index(map)] = true;
	err = update_devices(map, key, value, flags, &devices);
	if (devices && (err || !(map->type->flags & GPUBPF_MAP_KEYED)))
		return gpubpf_map_user_error(err);
	err = gpubpf_map_update(&view, key, value, devices ? 0 : flags);
	if (!err && gpubpf_map_is_percpu(map))
		err = gpubpf_linux_cpus_update(map->session, gpubpf_map_index(map), key,
					       (const uint8_t *)value + gpubpf_map_user_value_size(&view));
	return gpubpf_map_user_error(err);
}

int gpubpf_map__delete_elem(const struct gpubpf_map *map, const void *key, size_t key_sz, uint64_t flags)
{
	struct gpubpf_map_view view = gpubpf_arena_view(map->session, 0, gpubpf_map_index(map));
	bool devices = false;
	int err, own;

	if (key_sz != map->key_size || flags)
		return -EINVAL;
	map->session->maps->set[gpubpf_map_index(map)] = true;
	err = delete_devices(map, key, &devices);
	own = gpubpf_map_delete(&view, key);
	/* Also delete the values of the Linux map, because synchronization may not have deleted them yet. */
	gpubpf_linux_cpus_delete(map->session, gpubpf_map_index(map), key);
	return gpubpf_map_user_error(devices ? err : own);
}

/*
 * Returns true if an arena before index `arena` has the key. Iteration visits the arenas in order of their index, and
 * so skips keys that it has visited.
 */
bool gpubpf_map_has_in_earlier_arena(const struct gpubpf_map *map, uint32_t arena, const void *key, void *scratch)
{
	for (uint32_t i = 0; i < arena; i++) {
		struct gpubpf_map_view view = gpubpf_arena_view(map->session, i, gpubpf_map_index(map));

		if (!gpubpf_map_lookup(&view, key, scratch))
			return true;
	}
	return false;
}

static int find_next_in_all(const struct gpubpf_map *map, const void *key, void *next, void *scratch)
{
	const struct gpubpf_session *s = map->session;
	uint32_t i = 0;

	while (key && i + 1 < s->maps->narenas) {
		struct gpubpf_map_view view = gpubpf_arena_view(s, i, gpubpf_map_index(map));

		if (!gpubpf_map_lookup(&view, key, scratch))
			break;
		i++;
	}
	for (; i < s->maps->narenas; i++, key = NULL) {
		struct gpubpf_map_view view = gpubpf_arena_view(s, i, gpubpf_map_index(map));
		int err = gpubpf_map_next_key(&view, key, next);

		while (!err && gpubpf_map_has_in_earlier_arena(map, i, next, scratch)) {
			memcpy(scratch, next, map->key_size);
			err = gpubpf_map_next_key(&view, scratch, next);
		}
		if (err != -ENOENT)
			return err;
	}
	return -ENOENT;
}

/* Returns the bytes that a buffer needs to hold a key, or the largest value in any arena. */
size_t gpubpf_map_scratch_size(const struct gpubpf_map *map)
{
	size_t most = map->key_size + 8;

	for (uint32_t i = 0; i < map->session->maps->narenas; i++) {
		struct gpubpf_map_view view = gpubpf_arena_view(map->session, i, gpubpf_map_index(map));
		size_t size = gpubpf_map_user_value_size(&view);

		most = size > most ? size : most;
	}
	return most;
}

int gpubpf_map__get_next_key(const struct gpubpf_map *map, const void *cur_key, void *next_key, size_t key_sz)
{
	struct gpubpf_map_view view = gpubpf_arena_view(map->session, 0, gpubpf_map_index(map));
	void *scratch;
	int err;

	if (key_sz != map->key_size || !key_sz)
		return -EINVAL;
	if (map->session->maps->narenas == 1 || (map->type->flags & GPUBPF_MAP_U32KEY))
		return gpubpf_map_user_error(gpubpf_map_next_key(&view, cur_key, next_key));
	scratch = malloc(gpubpf_map_scratch_size(map));
	if (!scratch)
		return -ENOMEM;
	err = find_next_in_all(map, cur_key, next_key, scratch);
	free(scratch);
	return err;
}
