/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of maps. A kind is a pair of files that maps/kinds/kinds.h lists. The header, maps/kinds/hash.h for example, has the code that
 * devices run (maps/device/devlib.h). The source, maps/kinds/hash.c, has the operations of the host and ends in its struct gpubpf_map_impl.
 * Similar kinds may share a pair. A row of include/gpubpf/map_types.def assigns types to the kind; no other file names
 * it.
 */
#ifndef GPUBPF_MAPS_IMPL_H
#define GPUBPF_MAPS_IMPL_H

#include "maps.h"

struct gpubpf_env;

/* an error in a map definition: an attribute, its value, and the required value */
struct gpubpf_map_fault {
	const char *attr; /* "key_size" */
	uint32_t is;
	const char *must; /* the required value, as text */
};

/* limits for the size of a layout; the layout pass reduces them until the arena fits */
struct gpubpf_map_scale {
	uint32_t replicas, threads;
	/* bytes that all copies of one map may use; 0: make only the copies that are required */
	uint64_t budget;
	uint64_t perf_bytes;
};

/*
 * An operation of the device library on the host, for the interpreter. `arg` has the helper's arguments that lowered
 * code passes on (core/model/args.def), without the map; pointers are addresses of this process. Returns the helper's result.
 */
typedef uint64_t gpubpf_map_op_fn(const struct gpubpf_env *env, const struct gpubpf_map_layout *l, const uint64_t *arg);

struct gpubpf_map_impl {
	const char *name; /* "hash", part of the device library's function names */
	/* its operations have hundreds of instructions, so a module should contain each only once */
	bool large;
	bool has_glance;    /* it has a function gpubpf_<name>_glance(), which may find a look-up's address
				  * faster, or return 0 */
	uint32_t map_flags; /* BPF_F_* flags that a definition may have in addition to the flags of all kinds */

	/*
	 * Check the sizes of a definition, by bpf(2)'s rules if the kernel has the type, and correct members that have
	 * no meaning for the type. Returns -EINVAL and sets *fault if a size is invalid.
	 */
	int (*check)(struct gpubpf_map *map, struct gpubpf_map_fault *fault);
	/*
	 * Lay out the map from offset l->ctl on: set copies, data, stride, copy_stride and size, and the flags that the
	 * copies or the type require. The caller has limited the sizes so that no product overflows.
	 */
	void (*size)(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale);
	/* Write map->init into a new arena, whose bytes are 0. NULL: maps of this kind never have initial values. */
	void (*init)(void *arena, const struct gpubpf_map *map, const struct gpubpf_map_layout *l);
	/*
	 * Return the offset in its value of the `size` bytes at arena offset `off`, or -1 if they are not inside one
	 * value. NULL: programs get no addresses of values.
	 */
	int64_t (*where)(const struct gpubpf_map_layout *l, uint64_t off, uint64_t size);

	/* the operations of bpf(2) as maps.h describes them; NULL: -ENOTSUPP, or the error that the kernel returns */
	int (*read)(const struct gpubpf_map_view *view, const void *key, void *value);
	int (*write)(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags);
	int (*erase)(const struct gpubpf_map_view *view, const void *key);
	int (*take)(const struct gpubpf_map_view *view, const void *key, void *value);
	int (*next)(const struct gpubpf_map_view *view, const void *key, void *next);
	int (*iterate)(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value);
	/*
	 * Does the key have the same element as in `then`, a view of an earlier copy of the arena: was it never deleted
	 * since? NULL: always true.
	 */
	bool (*is_same_element)(const struct gpubpf_map_view *view, const struct gpubpf_map_view *then, const void *key);
	/*
	 * Read up to n consecutive values from index `first` on; returns their number. 0, or NULL: the values are not
	 * adjacent.
	 */
	uint32_t (*read_run)(const struct gpubpf_map_view *view, uint32_t first, uint32_t n, void *values);
	/*
	 * Return the address of element 0 of an array, whose elements are a stride apart; 0 if an element has several
	 * values. NULL: the kind is no array.
	 */
	uint64_t (*values)(const struct gpubpf_map_view *view);
	/* Return the number of refused records that struct gpubpf_map_ctl does not count. NULL: there are none. */
	uint64_t (*drops)(const struct gpubpf_map_view *view);

	gpubpf_map_op_fn *op[GPUBPF_OPS]; /* [enum gpubpf_op] functions for the operations that types of this kind
					   * have */
};

#define GPUBPF_MAP_TYPE(number, name, impl, operations, flags, meaning) \
	extern const struct gpubpf_map_impl gpubpf_##impl##_impl;
#include "gpubpf/map_types.def"

/* -- the table of kinds (registry.c) -- */

/* Return the kind of a view's map. For the print ring, which has no map, it is that of rings. */
const struct gpubpf_map_impl *gpubpf_map_impl_of(const struct gpubpf_map_view *view);

/* Does the kind implement all operations of the type? If not, the table or the kind has a bug. */
bool gpubpf_map_type_complete(const struct gpubpf_map_type *type);

/* -- functions for kinds (maps/host/values.c) -- */

#define GPUBPF_MAP_VALUE_MAX (64u << 20)
#define GPUBPF_MAP_KEY_MAX 512u /* limit in bytes, since code puts a key on the stack */

static inline uint64_t gpubpf_align(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

int gpubpf_map_set_fault(struct gpubpf_map_fault *fault, const char *attr, uint32_t is, const char *must);
/* Return how many copies of `bytes` bytes the budget allows: at least 1, at most one per multiprocessor. */
uint32_t gpubpf_map_max_copies(uint64_t budget, uint32_t replicas, uint64_t bytes);
/*
 * May the map have one copy of `bytes` bytes per multiprocessor? True if the copies are summands (GPUBPF_LAYOUT_SUM*)
 * and the budget allows it.
 */
bool gpubpf_map_sum_copies(const struct gpubpf_map_layout *l, const struct gpubpf_map_scale *scale, uint64_t bytes);

/* Copy `size` bytes out of the arena in whole words. */
void gpubpf_map_read_bytes(uint64_t address, void *to, uint64_t size);
/* Read one value from its copies: the first copy, or the sum of all. */
void gpubpf_map_read_value(const struct gpubpf_map_layout *l, uint64_t first, void *to);
/*
 * Return the offset in its value of `size` bytes at offset `off` of an array of values; -1: they are not inside one
 * value, for example in its padding.
 */
int64_t gpubpf_map_in_value(uint64_t off, uint64_t size, uint64_t stride, uint64_t value_size);

/* operations that several kinds of arrays share (maps/kinds/array.c) */
int gpubpf_array_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault);
int gpubpf_array_read(const struct gpubpf_map_view *view, const void *key, void *value);
int gpubpf_array_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags);
int gpubpf_array_erase(const struct gpubpf_map_view *view, const void *key);
int gpubpf_array_next(const struct gpubpf_map_view *view, const void *key, void *next);
int gpubpf_array_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value);

#endif
