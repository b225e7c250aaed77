/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the operations of the host on STACK_TRACE (stack_trace.h), like stack_trace_map_ops of the Linux kernel.
 */
#include "maps/impl.h"

#include <errno.h>
#include <string.h>

#include "maps/host/host.h"
#include "maps/host/stacks.h"

/* Checks a definition like stack_map_alloc() of the Linux kernel. */
static int stack_trace_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	uint32_t each = gpubpf_stack_frame_size(map->map_flags);

	if (map->key_size != 4)
		return gpubpf_map_set_fault(fault, "key_size", map->key_size, "4");
	if (!map->value_size || map->value_size % each || map->value_size > GPUBPF_STACK_DEPTH * each)
		return gpubpf_map_set_fault(fault, "value_size", map->value_size,
					    each == sizeof(uint64_t) ?
						    "8 bytes for each address, at most 127 addresses" :
						    "32 bytes (struct bpf_stack_build_id) for each frame, at most 127 frames");
	return 0;
}

static void stack_trace_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	l->stride = 1;
	while (l->stride < l->max_entries)
		l->stride *= 2;
	l->data = l->ctl + sizeof(struct gpubpf_map_ctl);
	l->size = l->data - l->ctl + 8 * l->stride;
}

static u64 bucket_at(const struct gpubpf_map_view *view, u64 id)
{
	return (uintptr_t)view->arena + view->layout->data + 8 * id;
}

uint64_t gpubpf_stack_number_at(const struct gpubpf_map_view *view, uint32_t id)
{
	return id < view->layout->stride ? gpubpf_load_u64(bucket_at(view, id)) : 0;
}

static void write_frames(const struct gpubpf_map *map, const struct gpubpf_stack *stack, uint32_t n, void *value)
{
	if (!(map->map_flags & GPUBPF_STACK_BUILD_ID))
		memcpy(value, stack->address, sizeof(uint64_t) * n);
	else
		for (uint32_t i = 0; i < n; i++)
			gpubpf_stack_describe(map->stacks, stack, i, (struct gpubpf_stack_frame *)value + i);
}

/* Store the frames of the stack in bucket `id`, padded with zeros. */
static int read_bucket(const struct gpubpf_map_view *view, uint32_t id, void *value)
{
	u64 number = gpubpf_stack_number_at(view, id);
	uint32_t room = view->layout->value_size / gpubpf_stack_frame_size(view->map ? view->map->map_flags : 0);
	const struct gpubpf_stack *stack;

	if (!number)
		return -ENOENT;
	if (!value)
		return 0;
	memset(value, 0, view->layout->value_size);
	stack = view->map ? gpubpf_stacks_find(view->map->stacks, number) : NULL;
	if (stack)
		write_frames(view->map, stack, stack->n < room ? stack->n : room, value);
	return 0;
}

static int stack_trace_read(const struct gpubpf_map_view *view, const void *key, void *value)
{
	uint32_t id;

	memcpy(&id, key, sizeof(id));
	return read_bucket(view, id, value);
}

static int stack_trace_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	return -EINVAL;
}

static int stack_trace_erase(const struct gpubpf_map_view *view, const void *key)
{
	uint32_t id;

	memcpy(&id, key, sizeof(id));
	if (id >= view->layout->stride)
		return -E2BIG;
	return gpubpf_rmw_xchg_u64(bucket_at(view, id), 0) ? 0 : -ENOENT;
}

static int stack_trace_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	while (*cursor < view->layout->stride) {
		uint32_t id = (uint32_t)(*cursor)++;

		if (read_bucket(view, id, value))
			continue;
		memcpy(key, &id, sizeof(id));
		return 0;
	}
	return -ENOENT;
}

static int stack_trace_next(const struct gpubpf_map_view *view, const void *key, void *next)
{
	uint64_t cursor = 0;
	uint32_t id;

	if (key) {
		memcpy(&id, key, sizeof(id));
		cursor = id < view->layout->stride ? id + 1ull : 0;
	}
	return stack_trace_iterate(view, &cursor, next, NULL);
}

HOST_OP(stack_trace, stackid, arg[0])

const struct gpubpf_map_impl gpubpf_stack_trace_impl = {
	.name = "stack_trace",
	.map_flags = GPUBPF_STACK_BUILD_ID,
	.check = stack_trace_check,
	.size = stack_trace_size,
	.read = stack_trace_read,
	.write = stack_trace_write,
	.erase = stack_trace_erase,
	.next = stack_trace_next,
	.iterate = stack_trace_iterate,
	.op[GPUBPF_OP_STACK_ID] = stack_trace_stackid,
};
