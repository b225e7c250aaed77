/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of maps. A kind is a pair of files that kinds.h names: maps/<kind>.h, what devices run (devlib.h), and
 * maps/<kind>.c, which ends in its struct gpubpf_map_impl, what the host does with it. (Kinds that differ little may
 * share the pair.) A row of include/gpubpf/map_types.def says which types are of the kind; nothing else names it.
 */
#ifndef GPUBPF_MAPS_IMPL_H
#define GPUBPF_MAPS_IMPL_H

#include "maps.h"

struct gpubpf_env;

/* what is wrong with a definition */
struct gpubpf_map_fault {
	const char *attr;        /* "key_size" */
	uint32_t is;
	const char *must;        /* what it must be */
};

/* how generous a layout is; made smaller until the arena fits */
struct gpubpf_map_scale {
	uint32_t replicas, threads;
	uint64_t budget;         /* bytes that all copies of one map may take; 0: copies that need not be are not */
	uint64_t perf_bytes;
};

/*
 * An operation of the device library on the host, for the interpreter: what the helper takes but for the map and
 * what is not handed on (core/args.def), pointers as addresses of this process. What the helper returns.
 */
typedef uint64_t gpubpf_map_op_fn(const struct gpubpf_env *env, const struct gpubpf_map_layout *l, const uint64_t *arg);

struct gpubpf_map_impl {
	const char *name;        /* "hash", of the device library's functions */
	bool large;              /* its operations are hundreds of instructions: better not twice in a module */
	bool glances;            /* gpubpf_<name>_glance() may find what a look-up would, where that is an address */
	uint32_t map_flags;      /* BPF_F_* that a definition may have beside those of all kinds */

	/* Are the sizes of the definition those of a map of this kind, by bpf(2)'s rules where the type is the kernel's?
	 * What says nothing is put right. -EINVAL and *fault. */
	int (*check)(struct gpubpf_map *map, struct gpubpf_map_fault *fault);
	/* From l->ctl on: set copies, data, stride, copy_stride, size, and flags if copies or type ask for some.
	 * Sizes are such that no product overflows. */
	void (*size)(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale);
	/* Write map->init into a new arena, whose bytes are 0. NULL: maps of this kind are never given one. */
	void (*init)(void *arena, const struct gpubpf_map *map, const struct gpubpf_map_layout *l);
	/* How far into a value of the map, at offset `off` of the arena, do `size` bytes lie? -1: in none. NULL: programs
	 * get no addresses of values. */
	int64_t (*where)(const struct gpubpf_map_layout *l, uint64_t off, uint64_t size);

	/* bpf(2)'s operations, as maps.h says of each; NULL: -ENOTSUPP, or what kernels answer instead */
	int (*read)(const struct gpubpf_map_view *view, const void *key, void *value);
	int (*write)(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags);
	int (*erase)(const struct gpubpf_map_view *view, const void *key);
	int (*take)(const struct gpubpf_map_view *view, const void *key, void *value);
	int (*next)(const struct gpubpf_map_view *view, const void *key, void *next);
	int (*iterate)(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value);
	/* Is a key's element the one that it was in an earlier copy of the arena, never taken out since? May be absent: always. */
	bool (*stayed)(const struct gpubpf_map_view *view, const struct gpubpf_map_view *then, const void *key);
	/* Values from index `first` on, up to n of them, one behind the other; how many. NULL, 0: they do not lie so. */
	uint32_t (*read_run)(const struct gpubpf_map_view *view, uint32_t first, uint32_t n, void *values);
	/* Where element 0 of an array lies, the others a stride apart; 0: none is one value there. May be absent. */
	uint64_t (*values)(const struct gpubpf_map_view *view);
	/* what was refused, beside what struct gpubpf_map_ctl counts; NULL: nothing */
	uint64_t (*drops)(const struct gpubpf_map_view *view);

	gpubpf_map_op_fn *op[GPUBPF_OPS]; /* those of the types of this kind, by enum gpubpf_op */
};

#define GPUBPF_MAP_TYPE(number, name, impl, operations, flags, meaning) \
	extern const struct gpubpf_map_impl gpubpf_##impl##_impl;
#include "gpubpf/map_types.def"

/* The kind of a view's map; the print ring is a ring. */
const struct gpubpf_map_impl *gpubpf_map_impl_of(const struct gpubpf_map_view *view);

/* Has the kind all that the type promises? If not, a row or a kind is wrong, and nothing else can be. */
bool gpubpf_map_type_complete(const struct gpubpf_map_type *type);

/* -- what kinds are made of (maps.c, layout.c) -- */

#define GPUBPF_MAP_VALUE_MAX (64u << 20)
#define GPUBPF_MAP_KEY_MAX 512u /* a key fits on the stack */

static inline uint64_t gpubpf_align(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

int gpubpf_map_wrong(struct gpubpf_map_fault *fault, const char *attr, uint32_t is, const char *must);
/* as many copies of `bytes` as the budget allows, at least 1, at most one a multiprocessor */
uint32_t gpubpf_map_affordable(uint64_t budget, uint32_t replicas, uint64_t bytes);
/* Are copies of values summands, so that they may be one a multiprocessor, of `bytes` each? */
bool gpubpf_map_sum_copies(const struct gpubpf_map_layout *l, const struct gpubpf_map_scale *scale, uint64_t bytes);

/* Copy words out of the arena. */
void gpubpf_map_read_bytes(uint64_t address, void *to, uint64_t size);
/* One value out of its copies: the first, or the sum of all. */
void gpubpf_map_read_value(const struct gpubpf_map_layout *l, uint64_t first, void *to);
/* `off` bytes into an array of values: how far into one of them, not in its padding; -1: it is in none */
int64_t gpubpf_map_in_value(uint64_t off, uint64_t size, uint64_t stride, uint64_t value_size);

/* what arrays of all kinds do alike (array.c) */
int gpubpf_array_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault);
int gpubpf_array_read(const struct gpubpf_map_view *view, const void *key, void *value);
int gpubpf_array_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags);
int gpubpf_array_erase(const struct gpubpf_map_view *view, const void *key);
int gpubpf_array_next(const struct gpubpf_map_view *view, const void *key, void *next);
int gpubpf_array_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value);

#endif
