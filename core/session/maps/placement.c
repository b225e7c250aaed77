/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the memory of each map on each device: by the user's option, else by the map's definition, else by
 * core/wire/placements.def. */
#include "core/session/session.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/placement.h"

#define NO_REQUEST (-1)

/* the capabilities that the session assumes when it lays out the arena of devices on host memory, before any device
 * appears */
#define ANY_HOST_DEVICE \
	(GPUBPF_CAP_SHARED_ARENA | GPUBPF_CAP_HOST_PINNED | GPUBPF_CAP_SVM_FINE | GPUBPF_CAP_MANAGED | GPUBPF_CAP_HOST_ATOMICS)

int gpubpf_session__place(struct gpubpf_session *s, const char *map, const char *where)
{
	struct gpubpf_placement_request *grown;
	char list[80], *own;
	int placement = gpubpf_placement_find(where);

	if (s->state != GPUBPF_SESSION_NEW)
		return gpubpf_session_fail(s, -EBUSY, "%s: maps cannot be placed after loading", map);
	gpubpf_placement_list(list, sizeof(list));
	if (placement < 0)
		return gpubpf_session_fail(s, -EINVAL, "%s is no memory for a map; known are %s", where, list);
	grown = realloc(s->places, (s->nplaces + 1) * sizeof(*grown));
	if (grown)
		s->places = grown;
	own = strdup(map);
	if (!grown || !own) {
		free(own);
		return gpubpf_session_fail(s, -ENOMEM, "%s: out of memory", map);
	}
	s->places[s->nplaces++] = (struct gpubpf_placement_request){ own, placement };
	return 0;
}

void gpubpf_placements_free(struct gpubpf_session *s)
{
	for (uint32_t i = 0; i < s->nplaces; i++)
		free(s->places[i].map);
	free(s->places);
}

static bool is_glob(const char *name)
{
	return name[strcspn(name, "*?[")];
}

/* Returns the memory that the last matching --place option requests. *glob: the option has a pattern, which the user
 * may have meant for other maps. */
static int find_request(const struct gpubpf_session *s, const struct gpubpf_map *map, bool *glob)
{
	for (uint32_t i = s->nplaces; i-- > 0;) {
		*glob = is_glob(s->places[i].map);
		if (!fnmatch(s->places[i].map, map->name, 0))
			return s->places[i].where;
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

/* Returns the requested memory; NO_REQUEST if there is no request, or a pattern requests memory that the map cannot
 * use; or -EOPNOTSUPP and the reason in *diag. */
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
				"map %s cannot be in %s memory: %s; let the session choose its place", map->name,
				gpubpf_placement_name(where), bars);
	list_available(caps, available, sizeof(available));
	if (lacks && !bars)
		gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC,
				"map %s cannot be in %s memory of %s, which lacks the capability %s; it has: %s "
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

	return gpubpf_placements_choose(s, &s->loaded->unit, 0, s->map_use, caps->bits, caps->name, places, diag);
}

int gpubpf_placements_check_names(const struct gpubpf_session *s, const struct gpubpf_unit *unit, struct gpubpf_diag *diag)
{
	for (uint32_t i = 0; i < s->nplaces; i++) {
		uint32_t m = 0;

		while (m < unit->nmaps && (unit->maps[m].prototype || fnmatch(s->places[i].map, unit->maps[m].name, 0)))
			m++;
		if (m == unit->nmaps && !is_glob(s->places[i].map) && s->npaths)
			return gpubpf_diag_refuse(diag, BAD_MAP,
						  "there is no map %s to place; gpubpf prog show lists the maps of "
						  "objects",
						  s->places[i].map);
	}
	return 0;
}

enum gpubpf_placement gpubpf_map_placement(const struct gpubpf_session *s, uint32_t arena, uint32_t map)
{
	return GPUBPF_LAYOUT_PLACE(s->arenas[arena].places[map]);
}

/* -- which maps the host may change in memory that a device uses -- */

static bool is_live(const struct gpubpf_session *s, uint32_t arena, uint32_t map)
{
	return s->arenas[arena].used && !s->arenas[arena].shared &&
	       s->arenas[arena].layout.maps[map].flags & GPUBPF_LAYOUT_LIVE;
}

/* May the host change the map while kernels use it? Yes if atomics of host and device work on one word, if the map is
 * an array, whose changes are plain stores, or if programs do not change the map. */
static bool may_change(const struct gpubpf_session *s, uint32_t arena, uint32_t map)
{
	const struct gpubpf_map_type *type = s->loaded->unit.maps[map].type;
	uint32_t changes = s->map_use[map] & ~(uint32_t)(GPUBPF_USE_LOOKUP | GPUBPF_USE_READ);

	return s->arenas[arena].caps & GPUBPF_CAP_HOST_ATOMICS || type->flags & GPUBPF_MAP_U32KEY ||
	       (!changes && type->flags & GPUBPF_MAP_KEYED && !(type->flags & GPUBPF_MAP_LRU));
}

bool gpubpf_placement_sees_host_writes(const struct gpubpf_session *s, uint32_t arena, uint32_t map)
{
	return is_live(s, arena, map) && !gpubpf_map_is_summed(s, map) && may_change(s, arena, map);
}

/* -- for reports -- */

/* Advance *at to the next arena in use; while no device has appeared, to arena 0. */
static bool next_arena(const struct gpubpf_session *s, uint32_t *at)
{
	bool none = true;

	for (uint32_t i = 0; i < s->narenas; i++)
		none &= !s->arenas[i].used;
	while (*at < s->narenas && !s->arenas[*at].used && !(none && !*at))
		(*at)++;
	return *at < s->narenas;
}

static const char *name_of(const struct gpubpf_session_arena *a)
{
	return a->shared ? "the host" : a->name;
}

bool gpubpf_map_memory_next(const struct gpubpf_session *s, uint32_t map, uint32_t *at, struct gpubpf_map_memory *place)
{
	const struct gpubpf_session_arena *a;

	if (!next_arena(s, at) || s->loaded->unit.maps[map].prototype)
		return false;
	a = &s->arenas[*at];
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
	a = &s->arenas[*at];
	*used = (struct gpubpf_memory_used){ .device = name_of(a), .arena = a->layout.own };
	for (uint32_t m = 0; m < a->layout.nmaps; m++)
		used->bytes[gpubpf_map_placement(s, *at, m)] += a->layout.maps[m].size;
	(*at)++;
	return true;
}
