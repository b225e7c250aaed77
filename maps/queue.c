/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and stacks (queue.h) on the host. */
#include "impl.h"

#include <errno.h>

#include "host.h"

/* as queue_stack_map_alloc_check() of the kernel */
static int queue_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
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

static int queue_erase(const struct gpubpf_map_view *view, const void *key)
{
	return -EINVAL;
}

static int queue_next_key(const struct gpubpf_map_view *view, const void *key, void *next)
{
	return -EINVAL;
}

/* From the oldest to the newest. A value that comes or goes meanwhile may be seen or not. */
static int queue_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	const struct gpubpf_map_layout *l = view->layout;
	u64 map = (uintptr_t)view->arena + l->ctl;
	u64 count = gpubpf_load_u64(map + GPUBPF_QUEUE_WORD) & UINT32_MAX;

	count = count < l->max_entries ? count : l->max_entries;
	while (*cursor < count) {
		u64 at = (gpubpf_load_u32(map + GPUBPF_QUEUE_OLDEST) + (*cursor)++) % l->max_entries;
		u64 cell = (uintptr_t)view->arena + l->data + at * l->stride;
		u32 state = gpubpf_load_acquire_u32(cell);

		if (value)
			gpubpf_map_read_bytes(cell + GPUBPF_QUEUE_VALUE, value, l->value_size);
		gpubpf_fence();
		if (state & 1 && gpubpf_load_u32(cell) == state)
			return 0;
	}
	return -ENOENT;
}

/* bpf(2)'s operations by those of programs, and the kind itself */
#define KIND(kind) \
	HOST_OP(kind, push, HOST_PTR(arg[0]), arg[1]) \
	HOST_OP(kind, pop, HOST_PTR(arg[0])) \
	HOST_OP(kind, peek, HOST_PTR(arg[0])) \
\
	static int kind##_read(const struct gpubpf_map_view *view, const void *key, void *value) \
	{ \
		struct gpubpf_env env = { .arena = (uintptr_t)view->arena }; \
\
		return (int)gpubpf_##kind##_peek(&env, GPUBPF_LAYOUT_PASS(view->layout), value); \
	} \
\
	static int kind##_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags) \
	{ \
		struct gpubpf_env env = { .arena = (uintptr_t)view->arena }; \
\
		return (int)gpubpf_##kind##_push(&env, GPUBPF_LAYOUT_PASS(view->layout), value, flags); \
	} \
\
	static int kind##_take(const struct gpubpf_map_view *view, const void *key, void *value) \
	{ \
		struct gpubpf_env env = { .arena = (uintptr_t)view->arena }; \
\
		return (int)gpubpf_##kind##_pop(&env, GPUBPF_LAYOUT_PASS(view->layout), value); \
	} \
\
	const struct gpubpf_map_impl gpubpf_##kind##_impl = { \
		.name = #kind, \
		.large = true, \
		.check = queue_check, \
		.size = queue_size, \
		.read = kind##_read, \
		.write = kind##_write, \
		.erase = queue_erase, \
		.take = kind##_take, \
		.next = queue_next_key, \
		.iterate = queue_iterate, \
		.op[GPUBPF_OP_PUSH] = kind##_push, \
		.op[GPUBPF_OP_POP] = kind##_pop, \
		.op[GPUBPF_OP_PEEK] = kind##_peek, \
	};

KIND(queue)
KIND(stack)
