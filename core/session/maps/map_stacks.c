/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the host stack to which an element of a map refers. */
#include <string.h>

#include "private.h"
#include "core/session/stacks/stacks.h"

const struct gpubpf_stack *gpubpf_stack_by_key(const struct gpubpf_map *map, const void *key)
{
	struct gpubpf_session *s = map->session;
	uint64_t number = 0;
	uint32_t id;

	memcpy(&id, key, sizeof(id));
	for (uint32_t i = s->maps->narenas; !number && i-- > 0;) {
		struct gpubpf_map_view view = gpubpf_arena_view(s, i, gpubpf_map_index(map));

		number = gpubpf_stack_number_at(&view, id);
	}
	return gpubpf_stacks_find(gpubpf_session_stack_table(s), number);
}

const struct gpubpf_stack *gpubpf_stack_by_id(const struct gpubpf_session *s, uint64_t id)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	const struct gpubpf_map *map = NULL;
	uint32_t key = (uint32_t)id, n = 0;

	for (uint32_t i = 0; i < unit->nmaps; i++)
		if (unit->maps[i].type->flags & GPUBPF_MAP_STACKS && !unit->maps[i].prototype) {
			map = &unit->maps[i];
			n++;
		}
	return n == 1 && id <= UINT32_MAX ? gpubpf_stack_by_key(map, &key) : NULL;
}
