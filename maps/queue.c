/* SPDX-License-Identifier: Apache-2.0 */
/* Queues (queue.h) on the host, and what stacks have alike. */
#include "queue_kind.h"

#include <errno.h>

/* as queue_stack_map_alloc_check() of the kernel */
int gpubpf_queue_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	if (map->key_size)
		return gpubpf_map_wrong(fault, "key_size", map->key_size, "0");
	if (!map->value_size || map->value_size > GPUBPF_MAP_VALUE_MAX)
		return gpubpf_map_wrong(fault, "value_size", map->value_size, "1 to 67108864");
	return 0;
}

static void queue_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	l->stride = GPUBPF_QUEUE_VALUE + GPUBPF_ROUND8(l->value_size);
	l->data = l->ctl + GPUBPF_QUEUE_END;
	l->size = l->data - l->ctl + l->max_entries * l->stride;
}

int gpubpf_queue_erase(const struct gpubpf_map_view *view, const void *key)
{
	return -EINVAL;
}

int gpubpf_queue_next_key(const struct gpubpf_map_view *view, const void *key, void *next)
{
	return -EINVAL;
}

/* From the oldest to the newest. A value that comes or goes meanwhile may be seen or not. */
static int queue_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	const struct gpubpf_map_layout *l = view->layout;
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };
	u64 map = (uintptr_t)view->arena + l->ctl, first = gpubpf_load_u64(map + GPUBPF_QUEUE_OUT);
	u64 n = gpubpf_load_u64(map + GPUBPF_QUEUE_IN) - first;

	n = n < 2ul * l->max_entries ? n : 2ul * l->max_entries; /* some may be void */
	while (*cursor < n) {
		u64 ticket = first + (*cursor)++, cell = gpubpf_queue_cell_at(&env, GPUBPF_LAYOUT_PASS(l), ticket);
		u64 word = gpubpf_load_acquire_u64(cell);

		if (value)
			gpubpf_map_read_bytes(cell + GPUBPF_QUEUE_VALUE, value, l->value_size);
		gpubpf_fence();
		if (word >> 32 == gpubpf_queue_turn(ticket, l->max_entries) + 2 && gpubpf_load_u64(cell) == word)
			return 0;
	}
	return -ENOENT;
}

GPUBPF_QUEUE_KIND(queue)
