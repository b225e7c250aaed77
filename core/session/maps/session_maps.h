/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a session's maps: the arenas, and the kind of memory of each map. Also stores the records of rings.
 * core/session/base/unit.h has the programs and the definitions of maps.
 */
#ifndef GPUBPF_SESSION_MAPS_H
#define GPUBPF_SESSION_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/model/diag.h"
#include "core/model/prog.h"
#include "core/session/base/peers.h"
#include "core/wire/placement.h"
#include "gpubpf/gpubpf.h"
#include "maps/maps.h"

#define GPUBPF_MAX_ARENAS 64
#define GPUBPF_BATCH_ARENA_SHIFT 56 /* number of the lowest bit of the arena's index in a batch position */
#define GPUBPF_PRINT_BYTES (1u << 20)

struct gpubpf_linux_record;
struct gpubpf_loader_ops;
struct gpubpf_session;
struct gpubpf_stack;
struct gpubpf_synced_ops;
struct gpubpf_unit;

/* The memory of all maps for one device with its own memory, or for all devices on host memory (shared). */
struct gpubpf_session_arena {
	struct gpubpf_layout layout;
	uint32_t nactive_maps; /* number of maps that devices can use; later maps are laid out but not activated */
	void *base;
	int fd;
	bool shared;
	bool used; /* a device uses the arena */
	/* values of summed maps at the time when the device joined; readers subtract them. NULL: there are none. */
	void *initial;
	uint32_t process, device; /* process and number of the device, unless shared */
	char backend[16];         /* the device's runtime */
	char name[96];            /* the device's name */
	uint64_t caps;            /* GPUBPF_CAP_* of the device; if shared, the bits that all devices have */
	/* kind of memory of each map: bits of GPUBPF_LAYOUT_PLACED, and GPUBPF_LAYOUT_LIVE */
	uint32_t places[GPUBPF_MAX_MAPS];
};

/* A record stored for the report. */
struct gpubpf_stored_record {
	int map;             /* index of the ring in the unit; -1: the ring of printed texts */
	const char *backend; /* runtime of the device; "" if several runtimes share its arena */
	uint32_t process, device, copy, size;
	uint64_t time_ns; /* time of the record, if its ring is synchronized with a Linux ring; 0: not known */
	struct gpubpf_print *print;
	void *data;
};

int gpubpf_maps_create(struct gpubpf_session *s); /* 0 or -ENOMEM */
void gpubpf_maps_destroy(struct gpubpf_session *s);
/*
 * Called when the session has its unit. Allocates the record counters, and marks the maps that have initial values.
 * Returns 0 or -ENOMEM.
 */
int gpubpf_maps_open(struct gpubpf_session *s);

/* The arenas have the indexes 0 to count - 1. */
uint32_t gpubpf_arenas_count(const struct gpubpf_session *s);
const struct gpubpf_session_arena *gpubpf_arena_at(const struct gpubpf_session *s, uint32_t arena);
/* Remember that the host has set values in the map. Devices that join later get a copy of these values. */
void gpubpf_map_mark_set(struct gpubpf_session *s, uint32_t map);
/* Return the number of records that were read: from the map's ring, or from all rings. */
uint64_t gpubpf_map_records(const struct gpubpf_session *s, uint32_t map);
uint64_t gpubpf_session_records(const struct gpubpf_session *s);
/* Returns the i-th record that the session stored for the report, or NULL after the last. */
const struct gpubpf_stored_record *gpubpf_stored_record_at(const struct gpubpf_session *s, uint64_t i);
/* Install the functions by which maps reach Linux maps (synced.h) and loaders (loader_ops.h). */
void gpubpf_maps_set_synced_ops(struct gpubpf_session *s, const struct gpubpf_synced_ops *ops);
void gpubpf_maps_set_loader_ops(struct gpubpf_session *s, const struct gpubpf_loader_ops *ops);

/*
 * Implemented in placement.c. Chooses the kind of memory for each map from `first` on, for a device with these
 * capabilities. The variant gpubpf_placements_shared() chooses it for all devices on host memory.
 *
 * Both return -EOPNOTSUPP with the reason in *diag if the user or the map's definition requests memory that the device
 * lacks.
 */
enum gpubpf_placement gpubpf_map_placement(const struct gpubpf_session *s, uint32_t arena, uint32_t map);
int gpubpf_placements_choose(const struct gpubpf_session *s, const struct gpubpf_unit *unit, uint32_t first,
			     const uint32_t *map_use, uint64_t caps, const char *device, uint32_t *places,
			     struct gpubpf_diag *diag);
int gpubpf_placements_shared(const struct gpubpf_session *s, const struct gpubpf_unit *unit, uint32_t first,
			     const uint32_t *map_use, uint32_t *places, struct gpubpf_diag *diag);
/*
 * Check that the device has all kinds of memory that the maps need. Returns 0, or -EOPNOTSUPP with the reason in *diag.
 */
int gpubpf_placements_check(const struct gpubpf_session *s, const struct gpubpf_device_caps *caps,
			    struct gpubpf_diag *diag);
/*
 * Check that the session has a map for each name in a --place option. Returns 0, or -EINVAL with the unmatched name in
 * *diag.
 */
int gpubpf_placements_check_names(const struct gpubpf_session *s, const struct gpubpf_unit *unit, struct gpubpf_diag *diag);
/*
 * Iterate over the memories of a map, one per device or arena. The caller first sets *at to 0. Returns false after the
 * last.
 */
struct gpubpf_map_memory {
	const char *device, *backend; /* backend "": all devices on host memory */
	uint32_t process, ordinal;
	enum gpubpf_placement where;
	bool live; /* host and GPU kernels see each other's writes at once */
	uint64_t bytes;
};
bool gpubpf_map_memory_next(const struct gpubpf_session *s, uint32_t map, uint32_t *at, struct gpubpf_map_memory *place);
/*
 * The memory that maps take on one device: bytes in each kind of memory, and the size of the arena with its spare
 * bytes.
 */
struct gpubpf_memory_used {
	const char *device;
	uint64_t arena, bytes[GPUBPF_PLACEMENTS];
};
bool gpubpf_memory_used_next(const struct gpubpf_session *s, uint32_t *at, struct gpubpf_memory_used *used);
/* Returns true if programs on a device with its own memory see later changes that the host makes to the map. */
bool gpubpf_placement_sees_host_writes(const struct gpubpf_session *s, uint32_t arena, uint32_t map);

/*
 * Implemented in arena.c. Open the arena of a device, or of all devices on host memory if caps is NULL. `memory`: bytes
 * of that memory. Returns the arena's index or -errno.
 */
int gpubpf_arena_open(struct gpubpf_session *s, uint32_t replicas, const struct gpubpf_device_caps *caps,
		      uint64_t memory, uint32_t process, struct gpubpf_diag *diag);
/* Note that programs on the host use the arena of devices on host memory. */
void gpubpf_arena_use_shared(struct gpubpf_session *s);
int gpubpf_arena_assign(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_session_device *dev,
			struct gpubpf_diag *diag);
/* Lay out the maps of the unit that *layout lacks, with gpubpf_layout_extend(). No arena changes. */
int gpubpf_arena_lay_out(struct gpubpf_session *s, uint32_t arena, const struct gpubpf_unit *unit, const uint32_t *map_use,
			 bool prints, bool allocations, struct gpubpf_layout *layout, struct gpubpf_diag *diag);
/* Install a layout from gpubpf_arena_lay_out() in the arena, and initialize its new maps. Devices cannot use the new
 * segments before gpubpf_arenas_activate(). */
void gpubpf_arena_grow(struct gpubpf_session *s, uint32_t arena, const struct gpubpf_layout *layout);
void gpubpf_arenas_activate(struct gpubpf_session *s);
struct gpubpf_map_view gpubpf_arena_view(const struct gpubpf_session *s, uint32_t arena, uint32_t map);
/* Returns the runtime of the devices that use the arena; "" if they have several. */
const char *gpubpf_arena_backend(const struct gpubpf_session *s, uint32_t arena);
/* Returns true if the map has one value per multiprocessor for each key (and not one per thread). */
bool gpubpf_map_is_percpu(const struct gpubpf_map *map);
/* Returns true if programs only add to the map's values. Then readers add up the values of all arenas. */
bool gpubpf_map_is_summed(const struct gpubpf_session *s, uint32_t map);
/* Returns true if programs only take maxima of the map's values. Then readers take the maximum of all arenas. */
bool gpubpf_map_has_maxima(const struct gpubpf_session *s, uint32_t map);
/* Returns true if readers merge the values of all arenas: the map is summed or has maxima. */
bool gpubpf_map_is_merged(const struct gpubpf_session *s, uint32_t map);
/* Add a value of a summed map to *sum; `minus`: subtract it. */
void gpubpf_sum_add(const struct gpubpf_map *map, void *sum, const void *value, size_t size, bool minus);
/* Returns true if the map's values are maps or programs, which reports show by name. */
static inline bool gpubpf_map_holds_objects(const struct gpubpf_map *map)
{
	return map->type->flags & (GPUBPF_MAP_OF_MAPS | GPUBPF_MAP_PROGS);
}
/*
 * Returns true if the map or program with that number (index + 1) can be an element of the map of maps or program
 * array.
 */
bool gpubpf_map_accepts_element(const struct gpubpf_map *map, uint32_t number);
/* Returns true if an arena before index `arena` has the key. scratch: gpubpf_map_scratch_size() bytes. */
bool gpubpf_map_has_in_earlier_arena(const struct gpubpf_map *map, uint32_t arena, const void *key, void *scratch);
size_t gpubpf_map_scratch_size(const struct gpubpf_map *map);
/*
 * Returns -EINVAL if err is -524, which is ENOTSUPP, an errno that only the Linux kernel uses. Otherwise returns err.
 */
int gpubpf_map_user_error(int err);

/*
 * Implemented in kernel_arrays.c. The first function maps the Linux kernel's arrays, from map `first` on, into the
 * session's arena. The second sends these arrays to an agent that uses the same arena.
 */
int gpubpf_linux_map_pages(struct gpubpf_session *s, const struct gpubpf_session_arena *a, uint32_t first);
int gpubpf_linux_share(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t first);
/* gpubpf_linux_share() for all agents that use the arena */
void gpubpf_linux_share_all(struct gpubpf_session *s, uint32_t first);

/*
 * Implemented in mirrors.c. The first function returns true if any device has a mirror. The second returns true if the
 * session waits for mirrors. The third requests new copies of all mirrors.
 */
bool gpubpf_session_has_mirrors(const struct gpubpf_session *s);
bool gpubpf_session_is_pulling(const struct gpubpf_session *s);
void gpubpf_session_pull_mirrors(struct gpubpf_session *s);
/* Returns true if the session waits for mirrors of the process. */
bool gpubpf_peer_is_pulling(const struct gpubpf_peer *peer);
/*
 * Request the mirrors of those devices of the process that have their own memory. Devices whose agent drains rings are
 * included only if `all` is set. A device that has not answered an earlier request is included only if `anew` is set.
 * The reason for a second request is that the agent may have begun the earlier copy before now.
 */
void gpubpf_peer_pull_mirrors(struct gpubpf_session *s, struct gpubpf_peer *peer, bool all, bool anew);

/* map_stacks.c */
/* Returns the host stack of an element of a STACK_TRACE, or NULL if it is not known. */
const struct gpubpf_stack *gpubpf_stack_by_key(const struct gpubpf_map *map, const void *key);
/* Returns the host stack of that id in the session's only STACK_TRACE. NULL: the session does not have exactly one. */
const struct gpubpf_stack *gpubpf_stack_by_id(const struct gpubpf_session *s, uint64_t id);

/*
 * Implemented in reader.c. Reads all rings, and returns the number of records. last: all writers have ended, so
 * incomplete records are dropped.
 */
uint64_t gpubpf_reader_run(struct gpubpf_session *s, bool last);
/* Deliver a record that gpubpf_linux_rings_queue() queued. The caller delivers the records in order of time. */
void gpubpf_reader_deliver(struct gpubpf_session *s, const struct gpubpf_linux_record *record);

/*
 * Returns true if the map is internal: its name starts with "__". Reports show such maps only on request, and the
 * session does not store their records.
 */
bool gpubpf_map_is_internal(const struct gpubpf_map *map);

/*
 * Implemented in element.c. Runs GPUBPF_QUERY_PEEK, PUSH or POP with the words of a command line, and writes the result
 * to `out`. Returns 0, or -errno with the reason in gpubpf_session__error().
 */
int gpubpf_element_query(struct gpubpf_session *s, uint32_t what, uint32_t flags, const char *name, char *const *words,
			 uint32_t nwords, FILE *out);
/* Implemented in element_keyed.c. Runs GPUBPF_QUERY_LOOKUP, UPDATE, DELETE or NEXT, like gpubpf_element_query(). */
int gpubpf_keyed_query(struct gpubpf_session *s, uint32_t what, uint32_t flags, const char *name, char *const *words,
		       uint32_t nwords, FILE *out);

#endif
