/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps on the host: layout of an arena, operations on its bytes, readers of its rings. Works on any
 * mapping of an arena: the tool's memfd while twins write to it, or a mirror. The arena's bytes are not
 * trusted (the application can write to them): every offset comes from the layout that the tool computed,
 * never from the arena, and every count read is bounded.
 */
#ifndef GPUBPF_MAPS_MAPS_H
#define GPUBPF_MAPS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/caps.h"
#include "core/prog.h"
#include "layout.h"

struct gpubpf_diag;

struct gpubpf_layout_opts {
	uint32_t replicas;       /* multiprocessors (compute units), at least 1 */
	uint32_t threads;        /* room in per-thread maps; 0: 1 << 20, less where memory asks for it */
	uint64_t max_size;       /* of the maps; 0: 1 GiB */
	uint64_t spare;          /* room behind them for segments that come later */
	uint32_t print_bytes;    /* ring for prints, a power of two; 0: none */
	uint32_t allocation_tables; /* of the application's allocations; 0: none */
	uint32_t ring_bytes;     /* rings of a PERF_EVENT_ARRAY in all; 0: 4 MiB, more on large devices */
	const uint32_t *map_use; /* union of the programs' facts, [unit->nmaps]; decides replication */
	const uint32_t *places;  /* where they lie, [unit->nmaps] of the flags GPUBPF_LAYOUT_PLACED and LIVE; NULL: in the arena */
	bool elsewhere;          /* maps that come later may lie elsewhere too: room for them */
};

struct gpubpf_layout {
	struct gpubpf_map_layout *maps; /* [nmaps], with room for GPUBPF_MAX_MAPS: it stays where it is */
	uint32_t nmaps;
	struct gpubpf_map_layout prints; /* the print ring's, if there is one */
	uint64_t size;                  /* of the arena, a multiple of GPUBPF_ARENA_ALIGN as the next */
	uint64_t own;                   /* bytes of it that lie in the device's memory: what is placed elsewhere is behind them */
	uint64_t used;                  /* the end of what is laid out there, */
	uint64_t placed;                /* and behind them */
	uint64_t hash;
	uint64_t print_ring;            /* arena offset of its layout, 0 none */
	uint64_t allocations;           /* arena offset of their tables, 0 none */
	uint32_t allocation_tables;
	uint32_t replicas, threads;
};

/* Place every map of the unit. -E2BIG with a diagnostic that names the map when it cannot fit. */
int gpubpf_layout_compute(const struct gpubpf_unit *unit, const struct gpubpf_layout_opts *opts,
			  struct gpubpf_layout *layout, struct gpubpf_diag *diag);
/* Place the maps that the unit has gained since, and what else is asked for first now, in a segment behind the
 * others; replicas and threads stay those of the layout. -E2BIG with a diagnostic where there is no room: the layout is
 * as it was. Rows of maps that were laid out before, and their pointer, never change. */
int gpubpf_layout_extend(const struct gpubpf_unit *unit, const struct gpubpf_layout_opts *opts,
			 struct gpubpf_layout *layout, struct gpubpf_diag *diag);
void gpubpf_layout_finish(struct gpubpf_layout *layout);
/* Arena offset of the table of granules (layout.h), a multiple of 64; 0: nobody asks for allocations. */
uint64_t gpubpf_layout_granules(const struct gpubpf_layout *layout);
/* What is done to elements of maps of maps, as what is done to each map that may be one: layouts go by that. */
void gpubpf_layout_spread(const struct gpubpf_unit *unit, uint32_t *map_use);
/* Does the layout of a map, chosen by what was done to it then, do for programs that do all this to it? */
bool gpubpf_layout_serves(const struct gpubpf_map *map, const struct gpubpf_map_layout *l, uint32_t use);

/* What a map takes, for people: of those beside each other, its own part. */
uint64_t gpubpf_map_bytes(const struct gpubpf_map_layout *l);
/* Does code for the one do for the other, wherever it lies? */
bool gpubpf_layout_alike(const struct gpubpf_map_layout *a, const struct gpubpf_map_layout *b);

/* Initialise `arena` (layout->size zeroed bytes): header, layouts, free lists, global data. */
void gpubpf_arena_init(void *arena, const struct gpubpf_unit *unit, const struct gpubpf_layout *layout);
/* The same of the maps from `first` on, while others read the arena; and then let agents take them to devices. */
void gpubpf_arena_extend(void *arena, const struct gpubpf_unit *unit, const struct gpubpf_layout *layout, uint32_t first);
void gpubpf_arena_use(void *arena, const struct gpubpf_layout *layout);

/* One map in one mapping of an arena. */
struct gpubpf_map_view {
	void *arena;
	const struct gpubpf_map *map;    /* NULL for the print ring */
	const struct gpubpf_map_layout *layout; /* the tool's own, never the arena's copy */
};

/* bpf(2)'s operations, same flags and errors (-ENOENT, -EEXIST, -E2BIG, -EINVAL, -ENOTSUPP). lookup copies
 * value_size bytes: copies that are replicas are summed. For COPIES maps the value is the concatenation of
 * all copies, each padded to 8 bytes, as bpf(2) does for per-CPU maps: copies * round_up(value_size, 8). */
int gpubpf_map_lookup(const struct gpubpf_map_view *view, const void *key, void *value);
int gpubpf_map_update(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags);
int gpubpf_map_delete(const struct gpubpf_map_view *view, const void *key);
/* Add to a word of 4 or 8 bytes at `offset` of the value that a look-up of programs finds, atomically for all who have
 * the memory; where there is none, of a new one of zeros. -EINVAL also of maps with a value a multiprocessor or thread,
 * and of a word of another size than those that programs add to. */
int gpubpf_map_add(const struct gpubpf_map_view *view, const void *key, uint32_t offset, uint32_t width, uint64_t n);
/* Such a word, of a key that is there, if it is the old one; -EAGAIN: it is not. -EINVAL and -EPERM as above. */
int gpubpf_map_exchange(const struct gpubpf_map_view *view, const void *key, uint32_t offset, uint32_t width, uint64_t old,
			uint64_t value);
/* The value, and then it is gone; one caller gets it. What others write to it in between is lost with it. */
int gpubpf_map_take(const struct gpubpf_map_view *view, const void *key, void *value);
/* Is the key in a copy of the map that was made before, and has its element been there ever since? */
bool gpubpf_map_stayed(const struct gpubpf_map_view *view, const struct gpubpf_map_view *then, const void *key);
int gpubpf_map_next_key(const struct gpubpf_map_view *view, const void *key, void *next);
/* All entries, each once, in no order that means anything; start with *cursor 0; value may be NULL. -ENOENT
 * after the last. Ends whatever an arena holds, which a loop of next_key does not on a corrupted one. */
int gpubpf_map_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value);
/* Values of an array from index `first` on, up to n of them, one behind the other: how many; 0: each must be read by itself. */
uint32_t gpubpf_map_read_run(const struct gpubpf_map_view *view, uint32_t first, uint32_t n, void *values);
/* Where an array's values lie in the view's arena, layout->stride apart, as long as that is mapped; NULL: they are several for an
 * index, or it is none. */
const void *gpubpf_map_values(const struct gpubpf_map_view *view);
size_t gpubpf_map_user_value_size(const struct gpubpf_map_view *view);
/* records and updates refused for lack of room, look-ups of threads without room */
uint64_t gpubpf_map_drops(const struct gpubpf_map_view *view);

/* Hand every record that is ready to fn, oldest first in each copy, and free its room. fn's non-zero
 * return stops. Returns the records read, or -errno; -EBADMSG if the ring's words are nonsense (it is then
 * reset, and what was lost is counted as drops). One reader a ring at a time. */
typedef int (*gpubpf_record_fn)(void *arg, uint32_t copy, const void *data, uint32_t size);
/* fn NULL: count them, no more */
int64_t gpubpf_ring_read(const struct gpubpf_map_view *view, gpubpf_record_fn fn, void *arg);
/* The last read, when nothing writes any more: also steps over records that their writers never finished
 * (a killed program) and counts each gap as a drop. */
int64_t gpubpf_ring_drain(const struct gpubpf_map_view *view, gpubpf_record_fn fn, void *arg);
/* The view of the print ring; false if the layout has none. */
bool gpubpf_print_view(void *arena, const struct gpubpf_layout *layout, struct gpubpf_map_view *view);

/* A record of the print ring, decoded. */
struct gpubpf_print {
	uint64_t kernel, launch;
	uint64_t block[3], thread[3];
	uint32_t prog;           /* index in the unit */
	char text[512];          /* formatted, without trailing newline */
};
int gpubpf_print_decode(const void *arena, const struct gpubpf_unit *unit, const struct gpubpf_layout *layout,
			const void *data, uint32_t size, struct gpubpf_print *print);

#endif
