/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the kind of memory for each map on each device. The first of these decides: the user's --place option, the
 * map's definition, core/wire/placements.def.
 */
#include "private.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/placement.h"

#define NO_REQUEST (-1)

/*
 * The session lays out the arena of devices on host memory before any device appears. It then assumes these
 * capabilities.
 */
#define ANY_HOST_DEVICE \
	(GPUBPF_CAP_SHARED_ARENA | GPUBPF_CAP_HOST_PINNED | GPUBPF_CAP_SVM_FINE | GPUBPF_CAP_MANAGED | GPUBPF_CAP_HOST_ATOMICS)

int gpubpf_session__place(struct gpubpf_session *s, const char *map, const char *where)
{
	struct gpubpf_placement_request *grown;
	char list[80], *own;
	int placement = gpubpf_placement_find(where);

	if (s->state != GPUBPF_SESSION_NEW)
		return gpubpf_session_fail(s, -EBUSY, "%s: the memory of a map cannot be chosen after loading", map);
	gpubpf_placement_list(list, sizeof(list));
	if (placement < 0)
		return gpubpf_session_fail(s, -EINVAL, "%s is not a kind of memory; use one of %s", where, list);
	grown = realloc(s->maps->places, (s->maps->nplaces + 1) * sizeof(*grown));
	if (grown)
		s->maps->places = grown;
	own = strdup(map);
	if (!grown || !own) {
		free(own);
		return gpubpf_session_fail(s, -ENOMEM, "%s: out of memory", map);
	}
	s->maps->places[s->maps->nplaces++] = (struct gpubpf_placement_request){ own, placement };
	return 0;
}

void gpubpf_placements_free(struct session_maps *maps)
{
	for (uint32_t i = 0; i < maps->nplaces; i++)
		free(maps->places[i].map);
	free(maps->places);
}

static bool is_glob(const char *name)
{
	return name[strcspn(name, "*?[")];
}

/*
 * Returns the kind of memory that the last matching --place option requests, else the one in the map's definition. Sets
 * *glob if the option has a pattern, with which the user may have meant other maps.
 */
static int find_request(const struct gpubpf_session *s, const struct gpubpf_map *map, bool *glob)
{
	for (uint32_t i = s->maps->nplaces; i-- > 0;) {
		*glob = is_glob(s->maps->places[i].map);
		if (!fnmatch(s->maps->places[i].map, map->name, 0))
			return s->maps->places[i].where;
	}
	*glob = false;
	return (int)map->place - 1;
}

/* List the kinds of memory that the device has, for a message. */
static void list_available(uint64_t caps, char *buf, size_t size)
{
	size_t at = 0;

	for (uint32_t i = 0; i < GPUBPF_PLACEMENTS && at < size; i++)
		if (!gpubpf_placement_lacks(i, caps))
			at += snprintf(buf + at, size - at, "%s%s", at ? ", " : "", gpubpf_placement_name(i));
}

/*
 * Returns the requested kind of memory. Returns NO_REQUEST if there is no request, or if a pattern requests memory that
 * the map cannot use. Returns -EOPNOTSUPP with the reason in *diag if the request cannot be met.
 */
static int check_request(const struct gpubpf_session *s, const struct gpubpf_map *map, uint32_t use, uint64_t caps,
			 const char *device, struct gpubpf_diag *diag)
{
	bool glob;
	int where = find_request(s, map, &glob);
	const char *bars = where > GPUBPF_PLACE_DEVICE ? gpubpf_placement_conflict(map, use) : NULL;
	const char *lacks = where > GPUBPF_PLACE_DEVICE ? gpubpf_placement_lacks(where, caps) : NULL;
	char available[80] = "";

	if (bars && glob)
		return NO_REQUEST;
	if (bars)
		gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC,
				"map %s cannot be in %s memory: %s; omit the request, so that the session chooses",
				map->name, gpubpf_placement_name(where), bars);
	list_available(caps, available, sizeof(available));
	if (lacks && !bars)
		gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC,
				"map %s cannot be in %s memory of %s, which lacks the capability %s; use one of %s "
				"(--place %s=WHERE)",
				map->name, gpubpf_placement_name(where), device, lacks, available, map->name);
	if (bars || lacks)
		return -EOPNOTSUPP;
	return where;
}

int gpubpf_placements_choose(const struct gpubpf_session *s, const struct gpubpf_unit *unit, uint32_t first,
			     const uint32_t *map_use, uint64_t caps, const char *device, uint32_t *places,
			     struct gpubpf_diag *diag)
{
	for (uint32_t i = first; i < unit->nmaps; i++) {
		const struct gpubpf_map *map = &unit->maps[i];
		int where;

		places[i] = 0;
		if (map->prototype)
			continue;
		where = check_request(s, map, map_use[i], caps, device, diag);
		if (where == -EOPNOTSUPP)
			return where;
		if (where == NO_REQUEST)
			where = gpubpf_placement_choose(map, map_use[i], caps);
		places[i] = GPUBPF_LAYOUT_PLACED_IN(where) | (gpubpf_placement_live(where, caps) ? GPUBPF_LAYOUT_LIVE : 0);
	}
	return 0;
}

int gpubpf_placements_shared(const struct gpubpf_session *s, const struct gpubpf_unit *unit, uint32_t first,
			     const uint32_t *map_use, uint32_t *places, struct gpubpf_diag *diag)
{
	return gpubpf_placements_choose(s, unit, first, map_use, ANY_HOST_DEVICE, "the host", places, diag);
}

int gpubpf_placements_check(const struct gpubpf_session *s, const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	uint32_t places[GPUBPF_MAX_MAPS];

	return gpubpf_placements_choose(s, gpubpf_session_unit(s), 0, gpubpf_session_map_use(s), caps->bits, caps->name,
					places, diag);
}

int gpubpf_placements_check_names(const struct gpubpf_session *s, const struct gpubpf_unit *unit, struct gpubpf_diag *diag)
{
	for (uint32_t i = 0; i < s->maps->nplaces; i++) {
		uint32_t m = 0;

		while (m < unit->nmaps &&
		       (unit->maps[m].prototype || fnmatch(s->maps->places[i].map, unit->maps[m].name, 0)))
			m++;
		if (m == unit->nmaps && !is_glob(s->maps->places[i].map) && gpubpf_session_loaded(s)->nobjects)
			return gpubpf_diag_refuse(diag, BAD_MAP,
						  "--place: there is no map %s; gpubpf prog show lists the maps of "
						  "objects",
						  s->maps->places[i].map);
	}
	return 0;
}

enum gpubpf_placement gpubpf_map_placement(const struct gpubpf_session *s, uint32_t arena, uint32_t map)
{
	return GPUBPF_LAYOUT_PLACE(s->maps->arenas[arena].places[map]);
}

/* -- maps that the host may change in memory that a device uses -- */

static bool is_live(const struct gpubpf_session *s, uint32_t arena, uint32_t map)
{
	return s->maps->arenas[arena].used && !s->maps->arenas[arena].shared &&
	       s->maps->arenas[arena].layout.maps[map].flags & GPUBPF_LAYOUT_LIVE;
}

/*
 * Returns true if the host may change the map while GPU kernels use it. One of these must hold:
 *
 * - Host and device can do atomics on the same word.
 * - The map is an array, whose changes are plain stores.
 * - No program changes the map.
 */
static bool may_change(const struct gpubpf_session *s, uint32_t arena, uint32_t map)
{
	const struct gpubpf_map_type *type = gpubpf_session_unit(s)->maps[map].type;
	uint32_t changes = gpubpf_session_map_use(s)[map] & ~(uint32_t)(GPUBPF_USE_LOOKUP | GPUBPF_USE_READ);

	return s->maps->arenas[arena].caps & GPUBPF_CAP_HOST_ATOMICS || type->flags & GPUBPF_MAP_U32KEY ||
	       (!changes && type->flags & GPUBPF_MAP_KEYED && !(type->flags & GPUBPF_MAP_LRU));
}

bool gpubpf_placement_sees_host_writes(const struct gpubpf_session *s, uint32_t arena, uint32_t map)
{
	return is_live(s, arena, map) && !gpubpf_map_is_merged(s, map) && may_change(s, arena, map);
}

/* -- for reports -- */

/*
 * Advance *at to the next arena that a device uses. If no device has appeared yet, arena 0 counts as used. Returns
 * false after the last.
 */
static bool next_arena(const struct gpubpf_session *s, uint32_t *at)
{
	bool none = true;

	for (uint32_t i = 0; i < s->maps->narenas; i++)
		none &= !s->maps->arenas[i].used;
	while (*at < s->maps->narenas && !s->maps->arenas[*at].used && !(none && !*at))
		(*at)++;
	return *at < s->maps->narenas;
}

static const char *name_of(const struct gpubpf_session_arena *a)
{
	return a->shared ? "the host" : a->name;
}

bool gpubpf_map_memory_next(const struct gpubpf_session *s, uint32_t map, uint32_t *at, struct gpubpf_map_memory *place)
{
	const struct gpubpf_session_arena *a;

	if (!next_arena(s, at) || gpubpf_session_unit(s)->maps[map].prototype)
		return false;
	a = &s->maps->arenas[*at];
	*place = (struct gpubpf_map_memory){
		.device = name_of(a),
		.backend = a->backend,
		.process = a->process,
		.ordinal = a->device,
		.where = gpubpf_map_placement(s, *at, map),
		.bytes = gpubpf_map_bytes(&a->layout.maps[map]),
		.live = a->shared || a->layout.maps[map].flags & GPUBPF_LAYOUT_LIVE,
	};
	(*at)++;
	return true;
}

bool gpubpf_memory_used_next(const struct gpubpf_session *s, uint32_t *at, struct gpubpf_memory_used *used)
{
	const struct gpubpf_session_arena *a;

	if (!next_arena(s, at))
		return false;
	a = &s->maps->arenas[*at];
	*used = (struct gpubpf_memory_used){ .device = name_of(a), .arena = a->layout.own };
	for (uint32_t m = 0; m < a->layout.nmaps; m++)
		used->bytes[gpubpf_map_placement(s, *at, m)] += a->layout.maps[m].size;
	(*at)++;
	return true;
}
