/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the operations of the host on PROG_ARRAY (prog_array.h), with the operations on ARRAY_OF_MAPS. A value is
 * the number of a program, which the caller has checked.
 */
#include "maps/impl.h"

#include "maps/host/host.h"

static int check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	int err = gpubpf_array_check(map, fault);

	return !err && map->value_size != 4 ?
		       gpubpf_map_set_fault(fault, "value_size", map->value_size, "4 (a program)") :
		       err;
}

static void size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	gpubpf_array_impl.size(l, map, scale);
}

static void init(void *arena, const struct gpubpf_map *map, const struct gpubpf_map_layout *l)
{
	gpubpf_array_of_maps_impl.init(arena, map, l);
}

static int read(const struct gpubpf_map_view *view, const void *key, void *value)
{
	return gpubpf_array_of_maps_impl.read(view, key, value);
}

static int write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	return gpubpf_array_of_maps_impl.write(view, key, value, flags);
}

static int erase(const struct gpubpf_map_view *view, const void *key)
{
	return gpubpf_array_of_maps_impl.erase(view, key);
}

static int iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	return gpubpf_array_of_maps_impl.iterate(view, cursor, key, value);
}

HOST_OP(prog_array, tail_call, arg[0])

const struct gpubpf_map_impl gpubpf_prog_array_impl = {
	.name = "prog_array",
	.check = check,
	.size = size,
	.init = init,
	.read = read,
	.write = write,
	.erase = erase,
	.next = gpubpf_array_next,
	.iterate = iterate,
	.op[GPUBPF_OP_TAIL_CALL] = prog_array_tail_call,
};
