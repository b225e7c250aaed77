/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the operations of the host on queues (queue.h), and functions that stack.c uses too. */
#include "queue_kind.h"

#include <errno.h>

/* Checks a definition like queue_stack_map_alloc_check() of the Linux kernel. */
int gpubpf_queue_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	if (map->key_size)
		return gpubpf_map_set_fault(fault, "key_size", map->key_size, "0");
	if (!map->value_size || map->value_size > GPUBPF_MAP_VALUE_MAX)
		return gpubpf_map_set_fault(fault, "value_size", map->value_size, "1 to 67108864");
	return 0;
}

static void queue_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	l->stride = GPUBPF_ROUND8(l->value_size);
	l->data = l->ctl + GPUBPF_QUEUE_END;
	l->size = l->data - l->ctl + l->max_entries * (16ul * GPUBPF_QUEUE_ENTRIES + l->stride);
}

int gpubpf_queue_erase(const struct gpubpf_map_view *view, const void *key)
{
	return -EINVAL;
}

int gpubpf_queue_next_key(const struct gpubpf_map_view *view, const void *key, void *next)
{
	return -EINVAL;
}

/* Iterates from the oldest value to the newest. It may skip a value that is pushed or popped meanwhile. */
static int queue_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	const struct gpubpf_map_layout *l = view->layout;
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };
	u64 ring = env.arena + l->ctl + GPUBPF_QUEUE_RING, first = gpubpf_load_u64(ring + GPUBPF_QUEUE_OUT);
	u64 entries = gpubpf_queue_entries(&env, GPUBPF_LAYOUT_PASS(l), GPUBPF_QUEUE_RING);
	u64 n = (u64)GPUBPF_QUEUE_ENTRIES * l->max_entries, there = gpubpf_load_u64(ring) - first;

	while (*cursor < n && *cursor < there) {
		u64 ticket = first + (*cursor)++, at = entries + ticket % n * 8, entry = gpubpf_load_acquire_u64(at);
		u32 number = (u32)entry;

		if (!number || number > l->max_entries || gpubpf_queue_ahead(entry, ticket / n + 1))
			continue;
		if (value)
			gpubpf_map_read_bytes(gpubpf_queue_cell_at(&env, GPUBPF_LAYOUT_PASS(l), number), value,
					      l->value_size);
		gpubpf_fence();
		if ((u32)gpubpf_load_u64(at) == number)
			return 0;
	}
	return -ENOENT;
}

GPUBPF_QUEUE_KIND(queue)
