/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps on the host: the layout of an arena, operations on the maps in it, and readers of its rings. The functions work
 * on any mapping of an arena: on the tool's memfd while twins write to it, or on a mirror. The application can write to
 * the arena, so its bytes are not trusted. Every offset comes from the layout that the tool computed, and every count
 * that is read from the arena is bounded.
 */
#ifndef GPUBPF_MAPS_MAPS_H
#define GPUBPF_MAPS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/caps.h"
#include "core/model/prog.h"
#include "layout.h"

struct gpubpf_diag;

struct gpubpf_layout_opts {
	uint32_t replicas; /* number of multiprocessors (compute units), at least 1 */
	/* number of threads that have values in per-thread maps; 0: 1 << 20, or fewer if memory is short */
	uint32_t threads;
	uint64_t max_size;          /* limit of the size of all maps in bytes; 0: 1 GiB */
	uint64_t spare;             /* bytes to reserve after the maps, for later segments */
	uint32_t print_bytes;       /* size of the print ring in bytes, a power of two; 0: no print ring */
	uint32_t allocation_tables; /* number of tables of the application's allocations; 0: none */
	/* total size in bytes of the rings of a PERF_EVENT_ARRAY; 0: 4 MiB, or more on large devices */
	uint32_t ring_bytes;
	/* [unit->nmaps] set of enum gpubpf_map_use for each map, from the facts of all programs */
	const uint32_t *map_use;
	/* [unit->nmaps] flags GPUBPF_LAYOUT_PLACED and LIVE of each map; NULL: all maps are in the arena */
	const uint32_t *places;
	bool elsewhere; /* also reserve memory for later maps that are placed outside the arena */
};

struct gpubpf_layout {
	struct gpubpf_map_layout *maps; /* [nmaps] the array has space for GPUBPF_MAX_MAPS elements and never moves */
	uint32_t nmaps;
	struct gpubpf_map_layout prints; /* layout of the print ring, valid if print_ring is not 0 */
	uint64_t size;                   /* size of the arena in bytes; a multiple of GPUBPF_ARENA_ALIGN, as is `own` */
	/* bytes of the arena that are in device memory; maps with another placement follow them */
	uint64_t own;
	uint64_t used;   /* end of the maps in device memory, in bytes */
	uint64_t placed; /* end of the maps with another placement, in bytes */
	uint64_t hash;
	uint64_t print_ring;  /* offset of the print ring's row in the arena; 0: no print ring */
	uint64_t allocations; /* offset of the tables of allocations in the arena; 0: no tables */
	uint32_t allocation_tables;
	uint32_t replicas, threads;
};

/* Lay out all maps of the unit. Returns 0, or -E2BIG with a diagnostic that names the map that does not fit. */
int gpubpf_layout_compute(const struct gpubpf_unit *unit, const struct gpubpf_layout_opts *opts,
			  struct gpubpf_layout *layout, struct gpubpf_diag *diag);
/*
 * Lay out the maps that the unit gained since the last call, in a segment after the others. The segment also gets the
 * print ring or the tables of allocations, if `opts` requests them for the first time. The numbers of replicas and
 * threads, the rows of earlier maps and layout->maps do not change. Returns 0, or -E2BIG with a diagnostic if the
 * reserved memory is too small; the layout is then unchanged.
 */
int gpubpf_layout_extend(const struct gpubpf_unit *unit, const struct gpubpf_layout_opts *opts,
			 struct gpubpf_layout *layout, struct gpubpf_diag *diag);
void gpubpf_layout_finish(struct gpubpf_layout *layout);
/*
 * Return the offset of the table of granules (layout.h) in the arena, a multiple of 64, or 0 if no program uses
 * allocations.
 */
uint64_t gpubpf_layout_granules(const struct gpubpf_layout *layout);
/*
 * Add the uses of elements of maps of maps to map_use of every map that can be such an element. The layout depends on
 * these uses.
 */
void gpubpf_layout_propagate_use(const struct gpubpf_unit *unit, uint32_t *map_use);
/*
 * Returns true if programs that use the map in these ways can run with its layout, which was computed for earlier uses.
 * `use` is a set of enum gpubpf_map_use.
 */
bool gpubpf_layout_supports_use(const struct gpubpf_map *map, const struct gpubpf_map_layout *l, uint32_t use);

/* Return the size of a map in bytes, for reports. If a map shares cache lines with others, only its own bytes count. */
uint64_t gpubpf_map_bytes(const struct gpubpf_map_layout *l);
/*
 * Returns true if code that was compiled for layout `a` can also operate on layout `b`: they differ only in their
 * offsets.
 */
bool gpubpf_layout_is_compatible(const struct gpubpf_map_layout *a, const struct gpubpf_map_layout *b);

/* Initialise `arena`, which has layout->size zero bytes: header, layouts, free lists and global data. */
void gpubpf_arena_init(void *arena, const struct gpubpf_unit *unit, const struct gpubpf_layout *layout);
/*
 * gpubpf_arena_extend() initialises the maps from number `first` on, while other processes read the arena. Then
 * gpubpf_arena_publish() permits agents to copy these maps to devices.
 */
void gpubpf_arena_extend(void *arena, const struct gpubpf_unit *unit, const struct gpubpf_layout *layout, uint32_t first);
void gpubpf_arena_publish(void *arena, const struct gpubpf_layout *layout);

/* A map in a mapping of an arena. */
struct gpubpf_map_view {
	void *arena;
	const struct gpubpf_map *map; /* NULL: the print ring */
	/* the layout that the tool computed, not the row in the arena, which is not trusted */
	const struct gpubpf_map_layout *layout;
};

/*
 * The operations of bpf(2), with the same flags and errors (-ENOENT, -EEXIST, -E2BIG, -EINVAL, -ENOTSUPP). A look-up
 * copies value_size bytes, and sums copies. In a map with GPUBPF_LAYOUT_COPIES, the value consists of all copies, each
 * padded to 8 bytes. It has copies * round_up(value_size, 8) bytes, as in bpf(2) for per-CPU maps.
 */
int gpubpf_map_lookup(const struct gpubpf_map_view *view, const void *key, void *value);
int gpubpf_map_update(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags);
int gpubpf_map_delete(const struct gpubpf_map_view *view, const void *key);
/*
 * Atomically add n to the word of `width` bytes (4 or 8) at `offset` in the value of a key. If the key does not exist,
 * it is first inserted with a value of zeros. Returns the errors of updates. Also returns -EINVAL if the map has one
 * value per multiprocessor or thread, or if programs add to words of another width.
 */
int gpubpf_map_add(const struct gpubpf_map_view *view, const void *key, uint32_t offset, uint32_t width, uint64_t n);
/*
 * Replace the word of `width` bytes at `offset` in the value of a key by `value`, if the word is `old`. Returns -EAGAIN
 * if it is not, -ENOENT if the key does not exist, and -EINVAL and -EPERM as gpubpf_map_add() does.
 */
int gpubpf_map_exchange(const struct gpubpf_map_view *view, const void *key, uint32_t offset, uint32_t width,
			uint64_t old, uint64_t value);
/*
 * Read a value and delete its key. If several callers do so, exactly one gets the value. A write between the read and
 * the deletion is lost.
 */
int gpubpf_map_lookup_and_delete(const struct gpubpf_map_view *view, const void *key, void *value);
/*
 * Returns true if the key has the same element as in `then`, a view of an earlier copy of the arena. So the key was not
 * deleted since.
 */
bool gpubpf_map_is_same_element(const struct gpubpf_map_view *view, const struct gpubpf_map_view *then, const void *key);
int gpubpf_map_next_key(const struct gpubpf_map_view *view, const void *key, void *next);
/*
 * Iterate over all entries, each once, in unspecified order. Start with *cursor 0. value may be NULL. Returns -ENOENT
 * after the last entry. Unlike a loop with gpubpf_map_next_key(), the iteration always ends, even on a corrupted arena.
 */
int gpubpf_map_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value);
/*
 * Read up to n consecutive values of an array, from index `first` on. Returns the number of values read. If it is 0,
 * the caller must read each value separately.
 */
uint32_t gpubpf_map_read_run(const struct gpubpf_map_view *view, uint32_t first, uint32_t n, void *values);
/*
 * Return the address of the values of an array in the view's arena, which are layout->stride bytes apart. The address
 * is valid while the arena is mapped. Returns NULL if an index has several values, or the map is not an array.
 */
const void *gpubpf_map_values(const struct gpubpf_map_view *view);
size_t gpubpf_map_user_value_size(const struct gpubpf_map_view *view);
/*
 * Return the number of records and updates that were dropped because the map was full, plus the number of look-ups by
 * threads without a value.
 */
uint64_t gpubpf_map_drops(const struct gpubpf_map_view *view);

/*
 * Pass every complete record to fn, oldest first in each copy, and free its memory. If fn returns a non-zero result,
 * the read stops. Returns the number of records read, or -errno. After -EBADMSG, the control words of a ring were
 * invalid. The function has reset this ring and counted the lost records as drops. A ring may have only one reader at a
 * time.
 */
typedef int (*gpubpf_record_fn)(void *arg, uint32_t copy, const void *data, uint32_t size);
/* Read all rings of the map. If fn is NULL, only count the records. */
int64_t gpubpf_ring_read(const struct gpubpf_map_view *view, gpubpf_record_fn fn, void *arg);
/*
 * Read the rest after all writers have ended. Records that a killed writer never finished are skipped, and each gap
 * counts as a drop.
 */
int64_t gpubpf_ring_drain(const struct gpubpf_map_view *view, gpubpf_record_fn fn, void *arg);
/* Make a view of the print ring. Returns false if the layout has no print ring. */
bool gpubpf_print_view(void *arena, const struct gpubpf_layout *layout, struct gpubpf_map_view *view);

/* A record of the print ring, decoded. */
struct gpubpf_print {
	uint64_t kernel, launch;
	uint64_t block[3], thread[3];
	uint32_t prog;  /* index of the program in the unit */
	char text[512]; /* the formatted text, without trailing newline */
};
int gpubpf_print_decode(const void *arena, const struct gpubpf_unit *unit, const struct gpubpf_layout *layout,
			const void *data, uint32_t size, struct gpubpf_print *print);

#endif
