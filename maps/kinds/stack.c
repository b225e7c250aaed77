/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the operations of the host on stacks (stack.h). */
#include "queue_kind.h"

#include <errno.h>

static void stack_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	l->stride = GPUBPF_STACK_VALUE + GPUBPF_ROUND8(l->value_size);
	l->data = l->ctl + GPUBPF_STACK_END;
	l->size = l->data - l->ctl + l->max_entries * l->stride;
}

/* Iterates from the oldest value to the newest. It may skip a value that is pushed or popped meanwhile. */
static int stack_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	const struct gpubpf_map_layout *l = view->layout;
	u64 map = (uintptr_t)view->arena + l->ctl;
	u64 count = gpubpf_load_u64(map + GPUBPF_STACK_WORD) & UINT32_MAX;

	count = count < l->max_entries ? count : l->max_entries;
	while (*cursor < count) {
		u64 at = (gpubpf_load_u32(map + GPUBPF_STACK_OLDEST) + (*cursor)++) % l->max_entries;
		u64 cell = (uintptr_t)view->arena + l->data + at * l->stride;
		u32 state = gpubpf_load_acquire_u32(cell);

		if (value)
			gpubpf_map_read_bytes(cell + GPUBPF_STACK_VALUE, value, l->value_size);
		gpubpf_fence();
		if (state & 1 && gpubpf_load_u32(cell) == state)
			return 0;
	}
	return -ENOENT;
}

GPUBPF_QUEUE_KIND(stack)
