/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and frees the session's data about maps, and gives other folders access to arenas and records. */
#include "private.h"

#include <errno.h>
#include <stdlib.h>

#include "core/session/stacks/stacks.h"
#include "host_calls.h"

int gpubpf_maps_create(struct gpubpf_session *s)
{
	s->maps = calloc(1, sizeof(*s->maps));
	return s->maps ? 0 : -ENOMEM;
}

static void free_records(struct session_maps *maps)
{
	for (uint64_t i = 0; i < maps->nstored; i++) {
		free(maps->stored[i].print);
		free(maps->stored[i].data);
	}
	free(maps->stored);
}

void gpubpf_maps_destroy(struct gpubpf_session *s)
{
	if (!s->maps)
		return;
	gpubpf_host_calls_stop(s);
	gpubpf_arenas_close(s->maps);
	gpubpf_placements_free(s->maps);
	free_records(s->maps);
	free(s->maps->records);
	free(s->maps->set);
	free(s->maps);
	s->maps = NULL;
}

int gpubpf_maps_open(struct gpubpf_session *s)
{
	struct gpubpf_unit *unit = gpubpf_session_unit(s);

	s->maps->records = calloc(GPUBPF_MAX_MAPS, sizeof(*s->maps->records));
	s->maps->set = calloc(GPUBPF_MAX_MAPS, sizeof(*s->maps->set));
	if (!s->maps->records || !s->maps->set)
		return -ENOMEM;
	for (uint32_t m = 0; m < unit->nmaps; m++) {
		s->maps->set[m] = unit->maps[m].kernel;
		unit->maps[m].stacks = gpubpf_session_stack_table(s);
	}
	return 0;
}

uint32_t gpubpf_arenas_count(const struct gpubpf_session *s)
{
	return s->maps->narenas;
}

const struct gpubpf_session_arena *gpubpf_arena_at(const struct gpubpf_session *s, uint32_t arena)
{
	return &s->maps->arenas[arena];
}

void gpubpf_map_mark_set(struct gpubpf_session *s, uint32_t map)
{
	s->maps->set[map] = true;
}

uint64_t gpubpf_map_records(const struct gpubpf_session *s, uint32_t map)
{
	return s->maps->records[map];
}

uint64_t gpubpf_session_records(const struct gpubpf_session *s)
{
	return s->maps->nrecords;
}

const struct gpubpf_stored_record *gpubpf_stored_record_at(const struct gpubpf_session *s, uint64_t i)
{
	return i < s->maps->nstored ? &s->maps->stored[i] : NULL;
}

void gpubpf_maps_set_synced_ops(struct gpubpf_session *s, const struct gpubpf_synced_ops *ops)
{
	s->maps->synced_ops = ops;
}

void gpubpf_maps_set_loader_ops(struct gpubpf_session *s, const struct gpubpf_loader_ops *ops)
{
	s->maps->loader_ops = ops;
}

struct gpubpf_map_view gpubpf_arena_view(const struct gpubpf_session *s, uint32_t arena, uint32_t map)
{
	const struct gpubpf_session_arena *a = &s->maps->arenas[arena];

	return (struct gpubpf_map_view){
		.arena = a->base,
		.map = &gpubpf_session_unit(s)->maps[map],
		.layout = &a->layout.maps[map],
	};
}
