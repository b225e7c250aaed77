/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the operations of the host on arrays (array.h), and functions that thread_array.c and of_maps.c use too.
 */
#include "maps/impl.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "gpubpf/allocation.h"
#include "gpubpf/arm.h"
#include "maps/host/host.h"

int gpubpf_array_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	if (map->key_size != 4)
		return gpubpf_map_set_fault(fault, "key_size", map->key_size, "4");
	if (!map->value_size || map->value_size > GPUBPF_MAP_VALUE_MAX)
		return gpubpf_map_set_fault(fault, "value_size", map->value_size, "1 to 67108864");
	if (map->map_flags & GPUBPF_F_ALLOCATIONS && map->type->flags & GPUBPF_MAP_COPIES)
		return gpubpf_map_set_fault(fault, "map_flags", map->map_flags,
					    "without GPUBPF_F_ALLOCATIONS, which only maps of type ARRAY support");
	if (map->map_flags & GPUBPF_F_ALLOCATIONS && map->value_size != sizeof(struct gpubpf_allocation))
		return gpubpf_map_set_fault(fault, "value_size", map->value_size,
					    "32 with GPUBPF_F_ALLOCATIONS (the size of struct gpubpf_allocation)");
	if (map->map_flags & GPUBPF_F_ARMS && map->type->flags & GPUBPF_MAP_COPIES)
		return gpubpf_map_set_fault(fault, "map_flags", map->map_flags,
					    "without GPUBPF_F_ARMS, which only maps of type ARRAY support");
	if (map->map_flags & GPUBPF_F_ARMS && map->value_size != sizeof(uint64_t))
		return gpubpf_map_set_fault(fault, "value_size", map->value_size, "8 with GPUBPF_F_ARMS");
	return 0;
}

/*
 * Lay out an array that is shared with the Linux kernel. The values are 8-byte aligned and adjacent, as in the Linux
 * kernel's array. They begin on a page boundary and share no page with other data of the arena, because the Linux
 * kernel's pages are mapped there.
 */
static void array_share(struct gpubpf_map_layout *l, uint64_t bytes)
{
	l->data = gpubpf_align(l->ctl + sizeof(struct gpubpf_map_ctl), GPUBPF_ARENA_ALIGN);
	l->copy_stride = gpubpf_align(bytes, GPUBPF_ARENA_ALIGN);
	l->size = l->data - l->ctl + l->copy_stride;
}

static void array_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	uint64_t bytes;

	l->stride = gpubpf_align(l->value_size, 8);
	if (map->map_flags & GPUBPF_F_ALLOCATIONS)
		l->flags |= GPUBPF_LAYOUT_ALLOCATIONS;
	bytes = gpubpf_align(l->max_entries * l->stride, GPUBPF_REPLICA_ALIGN);
	if (map->kernel) {
		array_share(l, bytes);
		return;
	}
	if (map->type->flags & GPUBPF_MAP_COPIES) {
		l->flags |= GPUBPF_LAYOUT_COPIES;
		l->copies = scale->replicas;
	} else if (gpubpf_map_merge_copies(l, scale, bytes)) {
		l->copies = scale->replicas;
	}
	l->copy_stride = bytes;
	l->data = l->ctl + sizeof(struct gpubpf_map_ctl);
	l->size = l->data - l->ctl + l->copies * bytes;
}

/*
 * Store initial values. If readers sum the copies, the first copy gets the value and the others stay 0. Independent
 * copies all get the value.
 */
static void array_init(void *arena, const struct gpubpf_map *map, const struct gpubpf_map_layout *l)
{
	uint32_t copies = l->flags & GPUBPF_LAYOUT_COPIES ? l->copies : 1, i;

	for (i = 0; i < copies; i++)
		memcpy((char *)arena + l->data + i * l->copy_stride, map->init, map->value_size);
}

static int64_t array_where(const struct gpubpf_map_layout *l, uint64_t off, uint64_t size)
{
	if (off < l->data)
		return -1;
	off -= l->data;
	if (l->copies > 1 && off / l->copy_stride >= l->copies)
		return -1;
	if (l->copies > 1)
		off %= l->copy_stride;
	return off / l->stride < l->max_entries ? gpubpf_map_in_value(off, size, l->stride, l->value_size) : -1;
}

static bool has_copies(const struct gpubpf_map_view *view)
{
	return view->map->type->flags & GPUBPF_MAP_COPIES;
}

static u64 first_copy(const struct gpubpf_map_view *view, uint32_t index)
{
	return (uintptr_t)view->arena + view->layout->data + index * view->layout->stride;
}

/* Read the value of an index. If each multiprocessor or thread has a value, read all of them, one after another. */
static void read_index(const struct gpubpf_map_view *view, uint32_t index, void *to)
{
	const struct gpubpf_map_layout *l = view->layout;
	u64 first = first_copy(view, index);
	uint32_t c;

	if (!has_copies(view)) {
		gpubpf_map_read_value(l, first, to);
		return;
	}
	memset(to, 0, gpubpf_map_user_value_size(view));
	for (c = 0; c < l->copies; c++)
		gpubpf_map_read_bytes(first + c * l->copy_stride, (char *)to + (size_t)c * GPUBPF_ROUND8(l->value_size),
				      l->value_size);
}

int gpubpf_array_read(const struct gpubpf_map_view *view, const void *key, void *value)
{
	uint32_t index;

	memcpy(&index, key, sizeof(index));
	if (index >= view->layout->max_entries)
		return -ENOENT;
	read_index(view, index, value);
	return 0;
}

static uint32_t array_read_run(const struct gpubpf_map_view *view, uint32_t first, uint32_t n, void *values)
{
	const struct gpubpf_map_layout *l = view->layout;

	if (l->copies > 1 || l->stride != l->value_size || first >= l->max_entries)
		return 0;
	n = n < l->max_entries - first ? n : l->max_entries - first;
	gpubpf_map_read_bytes(first_copy(view, first), values, n * l->stride);
	return n;
}

static uint64_t array_values(const struct gpubpf_map_view *view)
{
	return view->layout->copies > 1 || has_copies(view) ? 0 : first_copy(view, 0);
}

/* Store the values of all copies, as bpf(2) does with the values of all CPUs. */
static int write_copies(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	const struct gpubpf_map_layout *l = view->layout;
	uint32_t index, c;
	u64 first;

	memcpy(&index, key, sizeof(index));
	if (flags > GPUBPF_EXIST)
		return -EINVAL;
	if (index >= l->max_entries)
		return -E2BIG;
	if (flags == GPUBPF_NOEXIST)
		return -EEXIST;
	first = first_copy(view, index);
	for (c = 0; c < l->copies; c++)
		gpubpf_copy_in(first + c * l->copy_stride,
			       (const uint8_t *)value + (size_t)c * GPUBPF_ROUND8(l->value_size), l->value_size);
	return 0;
}

int gpubpf_array_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };

	return has_copies(view) ? write_copies(view, key, value, flags) :
				  (int)gpubpf_host_update(&env, view, key, value, flags);
}

int gpubpf_array_erase(const struct gpubpf_map_view *view, const void *key)
{
	return -EINVAL;
}

int gpubpf_array_next(const struct gpubpf_map_view *view, const void *key, void *next)
{
	uint32_t index = UINT32_MAX;

	if (key)
		memcpy(&index, key, sizeof(index));
	if (index >= view->layout->max_entries)
		index = 0;
	else if (++index == view->layout->max_entries)
		return -ENOENT;
	memcpy(next, &index, sizeof(index));
	return 0;
}

int gpubpf_array_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	uint32_t index = (uint32_t)*cursor;

	if (*cursor >= view->layout->max_entries)
		return -ENOENT;
	memcpy(key, &index, sizeof(index));
	if (value)
		read_index(view, index, value);
	*cursor += 1;
	return 0;
}

HOST_OP(array, lookup, HOST_PTR(arg[0]))
HOST_OP(array, update, HOST_PTR(arg[0]), HOST_PTR(arg[1]), arg[2])
HOST_OP(array, delete, HOST_PTR(arg[0]))
HOST_OP(array, arm, arg[0])
HOST_OP(array, each, (u64 *)HOST_PTR(arg[0]), HOST_PTR(arg[1]))

const struct gpubpf_map_impl gpubpf_array_impl = {
	.name = "array",
	.map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP | BPF_F_PRESERVE_ELEMS | GPUBPF_F_ALLOCATIONS | GPUBPF_F_ARMS,
	.check = gpubpf_array_check,
	.size = array_size,
	.init = array_init,
	.where = array_where,
	.read = gpubpf_array_read,
	.write = gpubpf_array_write,
	.erase = gpubpf_array_erase,
	.next = gpubpf_array_next,
	.iterate = gpubpf_array_iterate,
	.read_run = array_read_run,
	.values = array_values,
	.op[GPUBPF_OP_LOOKUP] = array_lookup,
	.op[GPUBPF_OP_UPDATE] = array_update,
	.op[GPUBPF_OP_DELETE] = array_delete,
	.op[GPUBPF_OP_FOR_EACH] = array_each,
	.op[GPUBPF_OP_ARM] = array_arm,
};
