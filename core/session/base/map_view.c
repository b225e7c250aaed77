/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a map in its session, and its view in an arena. */
#include "core/session/session.h"

uint32_t gpubpf_map_index(const struct gpubpf_map *map)
{
	return map - map->session->loaded->unit.maps;
}

struct gpubpf_map_view gpubpf_arena_view(const struct gpubpf_session *s, uint32_t arena, uint32_t map)
{
	const struct gpubpf_session_arena *a = &s->arenas[arena];

	return (struct gpubpf_map_view){
		.arena = a->base,
		.map = &s->loaded->unit.maps[map],
		.layout = &a->layout.maps[map],
	};
}
