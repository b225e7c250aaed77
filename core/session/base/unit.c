/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the loaded BPF objects of a session, the links of their programs, and how the programs use each map. */
#include "core/session/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpubpf/allocation.h"

struct gpubpf_link {
	struct gpubpf_session *session;
	uint32_t id; /* number of the link, and index of its program in the unit */
	bool attached;
	bool was_attached; /* the link is attached, or was attached earlier */
	bool borrowed;     /* another link's program owns the data that this link's program points to */
};

struct session_unit {
	struct gpubpf_loaded *loaded;
	/*
	 * [unit.nprogs] in use. Like unit.progs, it has memory for GPUBPF_PLAN_LINKS elements, and unit.maps has memory
	 * for GPUBPF_MAX_MAPS elements
	 */
	struct gpubpf_link *links;
	uint32_t *map_use; /* [GPUBPF_MAX_MAPS] enum gpubpf_map_use, the union over all programs */
	bool has_rings, prints, allocations;
	enum gpubpf_session_raw raw;
};

int gpubpf_unit_create(struct gpubpf_session *s)
{
	s->unit = calloc(1, sizeof(*s->unit));
	return s->unit ? 0 : -ENOMEM;
}

/*
 * Clear the programs of borrowed links before the unit is freed. Another link's program owns their memory and frees it.
 */
static void forget_borrowed(struct session_unit *u)
{
	for (uint32_t i = 0; u->links && u->loaded && i < u->loaded->unit.nprogs; i++)
		if (u->links[i].borrowed)
			u->loaded->unit.progs[i] = (struct gpubpf_prog){ 0 };
}

void gpubpf_unit_destroy(struct gpubpf_session *s)
{
	struct session_unit *u = s->unit;

	if (!u)
		return;
	forget_borrowed(u);
	for (uint32_t i = 0; u->loaded && i < u->loaded->unit.nprogs; i++) {
		gpubpf_facts_destroy(u->loaded->unit.progs[i].facts);
		u->loaded->unit.progs[i].facts = NULL;
	}
	if (u->loaded)
		gpubpf_loaded_destroy(u->loaded);
	free(u->links);
	free(u->map_use);
	free(u);
	s->unit = NULL;
}

void gpubpf_session_set_raw(struct gpubpf_session *s, enum gpubpf_session_raw raw)
{
	s->unit->raw = raw;
}

enum gpubpf_session_raw gpubpf_session_raw(const struct gpubpf_session *s)
{
	return s->unit->raw;
}

struct gpubpf_loaded *gpubpf_session_loaded(const struct gpubpf_session *s)
{
	return s->unit->loaded;
}

struct gpubpf_unit *gpubpf_session_unit(const struct gpubpf_session *s)
{
	return s->unit->loaded ? &s->unit->loaded->unit : NULL;
}

struct gpubpf_link *gpubpf_session_link(const struct gpubpf_session *s, uint32_t id)
{
	return s->unit->links ? &s->unit->links[id] : NULL;
}

const uint32_t *gpubpf_session_map_use(const struct gpubpf_session *s)
{
	return s->unit->map_use;
}

bool gpubpf_session_has_rings(const struct gpubpf_session *s)
{
	return s->unit->has_rings;
}

bool gpubpf_session_has_prints(const struct gpubpf_session *s)
{
	return s->unit->prints;
}

bool gpubpf_session_has_allocations(const struct gpubpf_session *s)
{
	return s->unit->allocations;
}

uint32_t gpubpf_map_index(const struct gpubpf_map *map)
{
	return map - map->session->unit->loaded->unit.maps;
}

void gpubpf_unit_set_loaded(struct gpubpf_session *s, struct gpubpf_loaded *loaded)
{
	s->unit->loaded = loaded;
}

int gpubpf_unit_open_links(struct gpubpf_session *s)
{
	struct gpubpf_unit *unit = &s->unit->loaded->unit;
	struct gpubpf_prog *progs = calloc(GPUBPF_PLAN_LINKS, sizeof(*progs));
	struct gpubpf_map *maps = calloc(GPUBPF_MAX_MAPS, sizeof(*maps));

	s->unit->links = calloc(GPUBPF_PLAN_LINKS, sizeof(*s->unit->links));
	if (!progs || !maps || !s->unit->links) {
		free(progs);
		free(maps);
		return -ENOMEM;
	}
	if (unit->nprogs)
		memcpy(progs, unit->progs, unit->nprogs * sizeof(*progs));
	if (unit->nmaps)
		memcpy(maps, unit->maps, unit->nmaps * sizeof(*maps));
	free(unit->progs);
	free(unit->maps);
	unit->progs = progs;
	unit->maps = maps;
	for (uint32_t i = 0; i < unit->nprogs; i++) {
		progs[i].session = s;
		s->unit->links[i] = (struct gpubpf_link){
			.session = s, .id = i, .attached = !s->opts.no_attach && progs[i].pattern[0] && !progs[i].is_run
		};
	}
	return 0;
}

bool gpubpf_maps_need_allocations(const struct gpubpf_unit *unit)
{
	bool wants_allocations = false;

	for (uint32_t m = 0; m < unit->nmaps; m++)
		wants_allocations |= unit->maps[m].map_flags & GPUBPF_F_ALLOCATIONS;
	return wants_allocations;
}

int gpubpf_unit_collect_use(struct gpubpf_session *s)
{
	struct session_unit *u = s->unit;
	struct gpubpf_unit *unit = &u->loaded->unit;

	u->map_use = calloc(GPUBPF_MAX_MAPS, sizeof(*u->map_use));
	if (!u->map_use)
		return -ENOMEM;
	for (uint32_t i = 0; i < unit->nprogs; i++) {
		u->prints |= unit->progs[i].facts->prints;
		u->allocations |= unit->progs[i].facts->allocations;
		for (uint32_t m = 0; m < unit->nmaps; m++)
			u->map_use[m] |= unit->progs[i].facts->map_use[m];
		if (u->raw)
			u->map_use[i] |= GPUBPF_USE_READ | GPUBPF_USE_WRITE;
	}
	u->allocations |= gpubpf_maps_need_allocations(unit);
	gpubpf_layout_propagate_use(unit, u->map_use);
	u->has_rings |= u->prints;
	for (uint32_t m = 0; m < unit->nmaps; m++) {
		u->has_rings |= unit->maps[m].type->flags & GPUBPF_MAP_RING;
		unit->maps[m].session = s;
	}
	return 0;
}

int gpubpf_unit_extend(struct gpubpf_session *s, const struct gpubpf_unit_addition *more)
{
	struct session_unit *u = s->unit;
	struct gpubpf_loaded *loaded = u->loaded;

	memcpy(u->map_use, more->use, more->unit->nmaps * sizeof(*more->use));
	for (uint32_t m = loaded->unit.nmaps; m < more->unit->nmaps; m++)
		u->has_rings |= more->unit->maps[m].type->flags & GPUBPF_MAP_RING;
	u->prints |= more->prints;
	u->allocations |= more->allocations;
	u->has_rings |= more->prints;
	for (uint32_t i = loaded->unit.nprogs; i < more->unit->nprogs; i++)
		u->links[i] = (struct gpubpf_link){ .session = s, .id = i };
	loaded->unit = *more->unit;
	loaded->objects[loaded->nobjects] = *more->object;
	*more->object = (struct gpubpf_loaded_object){ 0 };
	return (int)loaded->nobjects++;
}

struct gpubpf_link *gpubpf_unit_add_link(struct gpubpf_session *s, const struct gpubpf_prog *prog, const char *pattern,
					 uint64_t cookie)
{
	struct gpubpf_unit *unit = gpubpf_session_unit(s);
	struct gpubpf_prog *own = &unit->progs[unit->nprogs];
	struct gpubpf_link *link = gpubpf_session_link(s, unit->nprogs);

	if (unit->nprogs == GPUBPF_PLAN_LINKS) {
		gpubpf_session_fail(s, -ENOSPC, "%s: not linked, because a session has at most %d links", prog->name,
				    GPUBPF_PLAN_LINKS);
		errno = ENOSPC;
		return NULL;
	}
	*own = *prog;
	own->cookie = cookie;
	snprintf(own->pattern, sizeof(own->pattern), "%s", pattern);
	*link = (struct gpubpf_link){ .session = s, .id = unit->nprogs++, .borrowed = true };
	return link;
}

uint32_t gpubpf_link__id(const struct gpubpf_link *link)
{
	return link->id;
}

const struct gpubpf_prog *gpubpf_link__program(const struct gpubpf_link *link)
{
	return &gpubpf_session_unit(link->session)->progs[link->id];
}

struct gpubpf_session *gpubpf_link_session(const struct gpubpf_link *link)
{
	return link->session;
}

bool gpubpf_link_is_attached(const struct gpubpf_link *link)
{
	return link->attached;
}

bool gpubpf_link_was_attached(const struct gpubpf_link *link)
{
	return link->was_attached;
}

bool gpubpf_link_is_borrowed(const struct gpubpf_link *link)
{
	return link->borrowed;
}

void gpubpf_link_set_attached(struct gpubpf_link *link, bool attached)
{
	link->attached = attached;
	link->was_attached |= attached;
}
