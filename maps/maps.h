/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps on the host: the layout of an arena, map operations on its bytes, and readers of its rings. The functions work
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
	/* number of threads for which per-thread maps have room; 0: 1 << 20, or fewer if memory is short */
	uint32_t threads;
	uint64_t max_size;          /* maximum size of all maps in bytes; 0: 1 GiB */
	uint64_t spare;             /* bytes reserved after the maps for later segments */
	uint32_t print_bytes;       /* size of the print ring, a power of two; 0: none */
	uint32_t allocation_tables; /* number of tables of the application's allocations; 0: none */
	uint32_t ring_bytes;        /* total size of the rings of a PERF_EVENT_ARRAY; 0: 4 MiB, more on large devices */
	const uint32_t *map_use;    /* [unit->nmaps] union of the programs' facts, sets of enum gpubpf_map_use; decides
				  * replication */
	/* [unit->nmaps] flags GPUBPF_LAYOUT_PLACED and LIVE of each map; NULL: all maps lie in the arena */
	const uint32_t *places;
	bool elsewhere; /* also reserve room for later maps that are placed outside the arena */
};

struct gpubpf_layout {
	struct gpubpf_map_layout *maps; /* [nmaps], with room for GPUBPF_MAX_MAPS; the array never moves */
	uint32_t nmaps;
	struct gpubpf_map_layout prints; /* layout of the print ring, if there is one */
	uint64_t size;                   /* size of the arena in bytes; like `own`, a multiple of GPUBPF_ARENA_ALIGN */
	uint64_t own;                    /* bytes of the arena that are in the device's memory; maps with another
					 * placement follow them */
	uint64_t used;                   /* end in bytes of the maps in the device's memory */
	uint64_t placed;                 /* end in bytes of the maps with another placement */
	uint64_t hash;
	uint64_t print_ring;  /* arena offset of the print ring's row; 0: none */
	uint64_t allocations; /* arena offset of the allocation tables; 0: none */
	uint32_t allocation_tables;
	uint32_t replicas, threads;
};

/* Place every map of the unit. Returns -E2BIG, with a diagnostic that names the map, if one does not fit. */
int gpubpf_layout_compute(const struct gpubpf_unit *unit, const struct gpubpf_layout_opts *opts,
			  struct gpubpf_layout *layout, struct gpubpf_diag *diag);
/*
 * Place the maps that the unit gained since the last call, in a segment after the others. The segment also gets the
 * print ring or the allocation tables if `opts` requests them for the first time. Replicas and threads do not change,
 * nor do the rows of earlier maps and the pointer to the rows. Returns -E2BIG with a diagnostic if there is no room;
 * the layout is then unchanged.
 */
int gpubpf_layout_extend(const struct gpubpf_unit *unit, const struct gpubpf_layout_opts *opts,
			 struct gpubpf_layout *layout, struct gpubpf_diag *diag);
void gpubpf_layout_finish(struct gpubpf_layout *layout);
/* Return the arena offset of the table of granules (layout.h), a multiple of 64; 0: no program uses allocations. */
uint64_t gpubpf_layout_granules(const struct gpubpf_layout *layout);
/*
 * Propagate what programs do to elements of maps of maps to every map that can be such an element. The layout depends
 * on it.
 */
void gpubpf_layout_propagate_use(const struct gpubpf_unit *unit, uint32_t *map_use);
/*
 * Can programs that use the map in these ways (set of enum gpubpf_map_use) run on its layout, which was chosen for
 * earlier uses?
 */
bool gpubpf_layout_supports_use(const struct gpubpf_map *map, const struct gpubpf_map_layout *l, uint32_t use);

/* Return the bytes of a map, for reports. A map that shares its copies with others counts only its own part. */
uint64_t gpubpf_map_bytes(const struct gpubpf_map_layout *l);
/* Can code that was compiled for layout `a` also operate on layout `b`: are they equal except for their offsets? */
bool gpubpf_layout_is_compatible(const struct gpubpf_map_layout *a, const struct gpubpf_map_layout *b);

/* Initialise `arena` (layout->size bytes, zeroed): header, layouts, free lists and global data. */
void gpubpf_arena_init(void *arena, const struct gpubpf_unit *unit, const struct gpubpf_layout *layout);
/*
 * gpubpf_arena_extend() initialises the maps from `first` on, while others read the arena. gpubpf_arena_publish() then lets
 * agents copy them to devices.
 */
void gpubpf_arena_extend(void *arena, const struct gpubpf_unit *unit, const struct gpubpf_layout *layout, uint32_t first);
void gpubpf_arena_publish(void *arena, const struct gpubpf_layout *layout);

/* One map in one mapping of an arena. */
struct gpubpf_map_view {
	void *arena;
	const struct gpubpf_map *map;           /* NULL for the print ring */
	const struct gpubpf_map_layout *layout; /* the tool's layout, never the arena's copy */
};

/*
 * The operations of bpf(2), with the same flags and errors (-ENOENT, -EEXIST, -E2BIG, -EINVAL, -ENOTSUPP). A lookup
 * copies value_size bytes and sums replicas. For COPIES maps the value is the concatenation of all copies, each padded
 * to 8 bytes, as bpf(2) does for per-CPU maps: copies * round_up(value_size, 8).
 */
int gpubpf_map_lookup(const struct gpubpf_map_view *view, const void *key, void *value);
int gpubpf_map_update(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags);
int gpubpf_map_delete(const struct gpubpf_map_view *view, const void *key);
/*
 * Atomically add n to the word of `width` bytes (4 or 8) at `offset` of the key's value. If the key has no value, the
 * function first inserts a value of zeros. Also returns -EINVAL for maps with one value per multiprocessor or thread,
 * and if programs add to words of another width.
 */
int gpubpf_map_add(const struct gpubpf_map_view *view, const void *key, uint32_t offset, uint32_t width, uint64_t n);
/*
 * Replace the word of `width` bytes at `offset` of an existing key's value by another, if it is `old`; -EAGAIN if it is
 * not. -EINVAL and -EPERM as for gpubpf_map_add().
 */
int gpubpf_map_exchange(const struct gpubpf_map_view *view, const void *key, uint32_t offset, uint32_t width,
			uint64_t old, uint64_t value);
/* Read the value and delete it; exactly one caller gets it. A write between the read and the deletion is lost. */
int gpubpf_map_lookup_and_delete(const struct gpubpf_map_view *view, const void *key, void *value);
/*
 * Does the key have the same element as in `then`, a view of an earlier copy of the arena: was it never deleted since?
 */
bool gpubpf_map_is_same_element(const struct gpubpf_map_view *view, const struct gpubpf_map_view *then, const void *key);
int gpubpf_map_next_key(const struct gpubpf_map_view *view, const void *key, void *next);
/*
 * Iterate over all entries, each once, in unspecified order. Start with *cursor 0; value may be NULL. Returns -ENOENT
 * after the last entry. Unlike a loop of next_key, the iteration always ends, even on a corrupted arena.
 */
int gpubpf_map_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value);
/*
 * Read up to n consecutive values of an array from index `first` on. Returns their number; 0: the caller must read each
 * value separately.
 */
uint32_t gpubpf_map_read_run(const struct gpubpf_map_view *view, uint32_t first, uint32_t n, void *values);
/*
 * Return the address of an array's values in the view's arena, layout->stride apart, valid while the arena is mapped.
 * NULL if an index has several values, or the map is not an array.
 */
const void *gpubpf_map_values(const struct gpubpf_map_view *view);
size_t gpubpf_map_user_value_size(const struct gpubpf_map_view *view);
/* Return the number of records and updates refused for lack of room, plus that of look-ups by threads without room. */
uint64_t gpubpf_map_drops(const struct gpubpf_map_view *view);

/*
 * Pass every complete record to fn, oldest first in each copy, and free its room. A non-zero result of fn stops the
 * read. Returns the number of records read, or -errno. On -EBADMSG the ring's control words were invalid. The function
 * has then reset the ring and counted the lost records as drops. Only one reader per ring at a time.
 */
typedef int (*gpubpf_record_fn)(void *arg, uint32_t copy, const void *data, uint32_t size);
/* fn NULL: only count the records */
int64_t gpubpf_ring_read(const struct gpubpf_map_view *view, gpubpf_record_fn fn, void *arg);
/*
 * Read for the last time, after all writers have ended. The function also skips records that their writers never
 * finished (a killed program) and counts each gap as a drop.
 */
int64_t gpubpf_ring_drain(const struct gpubpf_map_view *view, gpubpf_record_fn fn, void *arg);
/* Make a view of the print ring; false: the layout has no print ring. */
bool gpubpf_print_view(void *arena, const struct gpubpf_layout *layout, struct gpubpf_map_view *view);

/* A decoded record of the print ring. */
struct gpubpf_print {
	uint64_t kernel, launch;
	uint64_t block[3], thread[3];
	uint32_t prog;  /* index of the program in the unit */
	char text[512]; /* the formatted text, without trailing newline */
};
int gpubpf_print_decode(const void *arena, const struct gpubpf_unit *unit, const struct gpubpf_layout *layout,
			const void *data, uint32_t size, struct gpubpf_print *print);

#endif
