/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of maps. A kind is a pair of files, which maps/kinds/kinds.h lists. The header, for example maps/kinds/hash.h,
 * has the code for devices (maps/device/devlib.h). The source, for example maps/kinds/hash.c, has the operations of the
 * host and ends with the kind's struct gpubpf_map_impl. Similar kinds may share a pair of files. A row of
 * include/gpubpf/map_types.def assigns a map type to a kind; no other file names the kind.
 */
#ifndef GPUBPF_MAPS_IMPL_H
#define GPUBPF_MAPS_IMPL_H

#include "maps.h"

struct gpubpf_env;

/* An error in a map definition: the name of an attribute, its value, and the required value. */
struct gpubpf_map_fault {
	const char *attr; /* "key_size" */
	uint32_t is;
	const char *must; /* description of the valid values, for example "4" */
};

/* Limits on the size of a layout. The layout code reduces them until all maps fit. */
struct gpubpf_map_scale {
	uint32_t replicas, threads;
	/* limit of the bytes of all copies of one map; 0: only the required copies */
	uint64_t budget;
	uint64_t perf_bytes;
};

/*
 * Implements an operation of the device library on the host, for the interpreter. `arg` has the helper's arguments that
 * lowered code passes on (core/model/args.def), without the map. Pointers are addresses of this process. Returns the
 * helper's result.
 */
typedef uint64_t gpubpf_map_op_fn(const struct gpubpf_env *env, const struct gpubpf_map_layout *l, const uint64_t *arg);

struct gpubpf_map_impl {
	const char *name; /* name of the kind in the names of the device library's functions, for example "hash" */
	/* the operations have hundreds of instructions, so a module should contain each only once */
	bool large;
	/*
	 * the device library has a function gpubpf_<name>_glance(), which finds the address of a value faster or
	 * returns 0
	 */
	bool has_glance;
	/* BPF_F_* flags that a definition may have, in addition to the flags that all kinds accept */
	uint32_t map_flags;

	/*
	 * Check the sizes of a definition, by the rules of bpf(2) if the Linux kernel has the type. Correct members
	 * that have no meaning for the type. Returns 0, or -EINVAL with *fault if a size is invalid.
	 */
	int (*check)(struct gpubpf_map *map, struct gpubpf_map_fault *fault);
	/*
	 * Compute the layout of the map from offset l->ctl on. Set copies, data, stride, copy_stride and size, and the
	 * flags that the copies or the type require. The caller has limited the sizes so that no product overflows.
	 */
	void (*size)(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale);
	/*
	 * Store the initial values map->init in a new arena, whose bytes are 0. NULL: maps of this kind have no initial
	 * values.
	 */
	void (*init)(void *arena, const struct gpubpf_map *map, const struct gpubpf_map_layout *l);
	/*
	 * If the `size` bytes at arena offset `off` are inside one value, return their offset in that value. Otherwise
	 * return -1. NULL: programs cannot have addresses of values.
	 */
	int64_t (*where)(const struct gpubpf_map_layout *l, uint64_t off, uint64_t size);

	/*
	 * The operations of bpf(2), which maps.h describes. NULL: the operation fails with -ENOTSUPP, or with the error
	 * of the Linux kernel.
	 */
	int (*read)(const struct gpubpf_map_view *view, const void *key, void *value);
	int (*write)(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags);
	int (*erase)(const struct gpubpf_map_view *view, const void *key);
	int (*take)(const struct gpubpf_map_view *view, const void *key, void *value);
	int (*next)(const struct gpubpf_map_view *view, const void *key, void *next);
	int (*iterate)(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value);
	/*
	 * Returns true if the key has the same element as in `then`, a view of an earlier copy of the arena. Returns
	 * false if the element was deleted since, even if the key was inserted again. NULL: always true.
	 */
	bool (*is_same_element)(const struct gpubpf_map_view *view, const struct gpubpf_map_view *then, const void *key);
	/*
	 * Copy up to n values, from index `first` on, if they are adjacent in memory. Returns the number of copied
	 * values, or 0 if they are not adjacent. NULL: values of this kind are never adjacent.
	 */
	uint32_t (*read_run)(const struct gpubpf_map_view *view, uint32_t first, uint32_t n, void *values);
	/*
	 * Return the address of element 0 of an array, whose elements are l->stride bytes apart. Returns 0 if an
	 * element has several values. NULL: the kind is not an array.
	 */
	uint64_t (*values)(const struct gpubpf_map_view *view);
	/* Return the number of dropped records that are not counted in struct gpubpf_map_ctl. NULL: there are none. */
	uint64_t (*drops)(const struct gpubpf_map_view *view);

	/* [enum gpubpf_op] functions for the operations that programs may call on this kind */
	gpubpf_map_op_fn *op[GPUBPF_OPS];
};

#define GPUBPF_MAP_TYPE(number, name, impl, operations, flags, meaning) \
	extern const struct gpubpf_map_impl gpubpf_##impl##_impl;
#include "gpubpf/map_types.def"

/* -- the table of kinds (registry.c) -- */

/* Return the kind of a view's map. The print ring has no map; its kind is that of rings. */
const struct gpubpf_map_impl *gpubpf_map_impl_of(const struct gpubpf_map_view *view);

/* Returns true if the kind implements all operations of the type. False indicates a bug in the table or the kind. */
bool gpubpf_map_type_complete(const struct gpubpf_map_type *type);

/* -- functions that kinds share (maps/host/values.c) -- */

#define GPUBPF_MAP_VALUE_MAX (64u << 20)
#define GPUBPF_MAP_KEY_MAX 512u /* limit in bytes, because generated code copies a key to the stack */

static inline uint64_t gpubpf_align(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

int gpubpf_map_set_fault(struct gpubpf_map_fault *fault, const char *attr, uint32_t is, const char *must);
/*
 * Return the number of copies of `bytes` bytes that the budget allows: at least 1, and at most one per multiprocessor.
 */
uint32_t gpubpf_map_max_copies(uint64_t budget, uint32_t replicas, uint64_t bytes);
/*
 * Returns true if the map may have one copy of `bytes` bytes per multiprocessor: readers merge the copies
 * (GPUBPF_LAYOUT_MERGED), and the budget allows them.
 */
bool gpubpf_map_merge_copies(const struct gpubpf_map_layout *l, const struct gpubpf_map_scale *scale, uint64_t bytes);

/* Copy `size` bytes out of the arena, in aligned words. */
void gpubpf_map_read_bytes(uint64_t address, void *to, uint64_t size);
/* Read a value whose copies begin at `first`: the only copy, or the merged copies. */
void gpubpf_map_read_value(const struct gpubpf_map_layout *l, uint64_t first, void *to);
/*
 * If the `size` bytes at offset `off` of an array of values are inside one value, return their offset in that value.
 * Otherwise, for example in padding, return -1.
 */
int64_t gpubpf_map_in_value(uint64_t off, uint64_t size, uint64_t stride, uint64_t value_size);

/* operations that several array kinds share (maps/kinds/array.c) */
int gpubpf_array_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault);
int gpubpf_array_read(const struct gpubpf_map_view *view, const void *key, void *value);
int gpubpf_array_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags);
int gpubpf_array_erase(const struct gpubpf_map_view *view, const void *key);
int gpubpf_array_next(const struct gpubpf_map_view *view, const void *key, void *next);
int gpubpf_array_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value);

#endif
