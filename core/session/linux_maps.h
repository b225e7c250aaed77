/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps that programs of the Linux kernel and those for a GPU have one each of, kept alike (MAPS.md).
 *
 *   linux_maps.c    which they are, and when what happens to one is carried to the other
 *   linux_sides.c   maps with one value a key            linux_percpu.c  with one a CPU, or multiprocessor
 *   linux_queue.c   queues and stacks                    linux_ring.c    records
 */
#ifndef GPUBPF_SESSION_LINUX_MAPS_H
#define GPUBPF_SESSION_LINUX_MAPS_H

#include "core/load/linux_map.h"
#include "merge.h"
#include "session.h"

#define GPUBPF_LINUX_PASS_NS 10000000u /* from pass to pass, unless they take long */
#define GPUBPF_LINUX_RECORD_NS 50000000u /* that a record waits for earlier ones */

#define GPUBPF_LINUX_APART "map %s is not shared: the Linux kernel's programs and those for a GPU have one each: %s"
#define GPUBPF_LINUX_BOTH_TAKE "programs of both take values out"
#define GPUBPF_LINUX_BACKEND "linux"   /* of its records, where others name a runtime */

struct perf_buffer;
struct ring_buffer;
struct sys_object;

/* Keep a map of the session like the kernel's of that descriptor, which lives as long: NULL, or why it cannot be. takes:
 * programs there take values out of a queue. After the session's first arena is there. */
const char *gpubpf_linux_maps_add(struct gpubpf_session *s, uint32_t map, int fd, bool takes);
void gpubpf_linux_maps_close(struct gpubpf_session *s);
/* Are maps of the kind never carried? Why; NULL: they may be. */
const char *gpubpf_linux_maps_never(const struct gpubpf_map *map);
/* None of the kernel's programs has the map, and nothing is carried, until some have. */
void gpubpf_linux_maps_rest(struct gpubpf_session *s, uint32_t map, bool rests);
/* The map is one at this key (NULL: at all, if that does not take long): before somebody looks there, and when he has written. */
void gpubpf_linux_maps_settle(struct gpubpf_session *s, uint32_t map, const void *key);
bool gpubpf_linux_maps_carry(const struct gpubpf_session *s); /* is there one that does not rest? */
void gpubpf_linux_maps_pass(struct gpubpf_session *s);  /* now: before somebody reads, and at the end */
void gpubpf_linux_maps_poll(struct gpubpf_session *s);  /* if it is time */
/* Are mirrors to be copied, for what devices with memory of their own wrote? Once each time that it is time. */
bool gpubpf_linux_maps_want_mirrors(struct gpubpf_session *s);

/* Values that CPUs have of a map, which readers see behind those of the tool's own arena: bytes of them, 0: none. */
size_t gpubpf_linux_cpus_size(const struct gpubpf_session *s, uint32_t map);
/* bpf(2)'s, of these; 0 of a map that has none */
int gpubpf_linux_cpus_lookup(const struct gpubpf_session *s, uint32_t map, const void *key, void *values);
int gpubpf_linux_cpus_update(const struct gpubpf_session *s, uint32_t map, const void *key, const void *values);
int gpubpf_linux_cpus_delete(const struct gpubpf_session *s, uint32_t map, const void *key);

/* Is it a map of which the Linux kernel has another one? */
bool gpubpf_linux_maps_has(const struct gpubpf_session *s, uint32_t map);
/* The next value of a queue or stack that the kernel's programs take from, or take it out: bpf(2)'s errors, -EOPNOTSUPP of
 * others, whose values are in the session's arenas. */
int gpubpf_linux_queue_next(const struct gpubpf_session *s, uint32_t map, bool take, void *value);

/* A program of the kernel's that was loaded since takes values out: they go there from now on. */
void gpubpf_linux_queue_turn(struct gpubpf_session *s, uint32_t map);

/* Of a ring that both have: a record is to wait for its turn. False: the ring is the session's alone. */
bool gpubpf_linux_rings_take(struct gpubpf_session *s, uint32_t map, int arena, uint32_t copy, const void *data, uint32_t size);
/* May more wait? Of one that a loader reads not, as long as it is late. */
bool gpubpf_linux_rings_room(const struct gpubpf_session *s, uint32_t map);
/* Read the kernel's records, and give what has waited, or all. How many were given. */
uint64_t gpubpf_linux_rings_give(struct gpubpf_session *s, bool all);
/* Read now, and give loaders what was put until now: earlier ones are there. */
void gpubpf_linux_rings_flush(struct gpubpf_session *s);
uint64_t gpubpf_linux_rings_lost(const struct gpubpf_session *s, uint32_t map);

/* A record of such a ring. */
struct gpubpf_linux_record {
	uint64_t time, number;             /* CLOCK_MONOTONIC; in the order in which they were read */
	uint32_t map;
	int arena;                         /* -1: the kernel's */
	uint32_t copy, size;               /* copy: multiprocessor, or CPU */
	uint8_t data[];
};

/* -- inside -- */

struct gpubpf_linux_carried;

struct gpubpf_linux_heap {
	struct gpubpf_linux_record **record;
	uint64_t n, room, bytes, number;
};

int gpubpf_linux_record_put(struct gpubpf_linux_carried *c, int arena, uint32_t copy, const void *data, uint32_t size);
void gpubpf_linux_ring_read(struct gpubpf_linux_carried *c);
/* Those of that time and before. reader: who may be late where the records of h are one map's, NULL: nobody. */
uint64_t gpubpf_linux_records_give(struct gpubpf_session *s, struct gpubpf_linux_heap *h, struct sys_object *reader, uint64_t until);
bool gpubpf_linux_records_room(const struct gpubpf_linux_heap *h);
void gpubpf_linux_records_free(struct gpubpf_linux_heap *h);

/* How maps of a kind are carried: 0 or -errno each. */
struct gpubpf_linux_kind {
	int (*open)(struct gpubpf_linux_carried *c);       /* -E2BIG: values are too large */
	int (*pass)(struct gpubpf_linux_carried *c);
	int (*settle)(struct gpubpf_linux_carried *c, const void *key); /* NULL: by a pass */
	void (*close)(struct gpubpf_linux_carried *c);     /* also of one that did not open */
};

extern const struct gpubpf_linux_kind gpubpf_linux_sides, gpubpf_linux_percpu, gpubpf_linux_queue, gpubpf_linux_ring;

struct gpubpf_linux_carried {
	struct gpubpf_session *s;
	uint32_t map;
	int fd;                            /* the kernel's, not owned */
	const struct gpubpf_linux_kind *kind;
	struct gpubpf_linux_map *kernel;
	struct gpubpf_merge *merge;        /* NULL: keys neither come nor go */
	uint32_t word;                     /* bytes; 0: values change as a whole */
	bool told;                         /* that there was no room */
	bool told_late;                    /* the line about late times was considered */
	gpubpf_merge_found_fn found;       /* of the walk in hand */
	void *arg;
	uint8_t *zeros;                    /* of a value a multiprocessor, or CPU: as many as there are */
	bool takes;                        /* the kernel's programs take values out, and so they go there */
	bool split;                        /* programs of both do: each side keeps its own values */
	uint8_t *hand;                     /* [in_hand] values that are on their way, the oldest first; max_entries at most */
	uint32_t in_hand;
	struct ring_buffer *ring;          /* one of the two, */
	struct perf_buffer *perf;
	struct gpubpf_linux_heap *waiting, own; /* of all rings; its own, where a loader reads it */
	bool rests;
	uint64_t ended_ns, took_ns;        /* the last pass */
	uint64_t opened_ns, lost;          /* records */
	struct gpubpf_linux_known {        /* of records of the size that came last */
		uint32_t size;
		bool padded;               /* as perf events are */
		uint32_t own;              /* bytes without padding */
		int32_t time;              /* where it tells its time; -1: it does not */
		int object;                /* whose types they are */
	} known;
};

static inline const struct gpubpf_map *gpubpf_linux_carried_map(const struct gpubpf_linux_carried *c)
{
	return &c->s->loaded->unit.maps[c->map];
}

/* The kernel's side of merge.c: `each` tells of an element by c->found, */
int gpubpf_linux_kernel_each(struct gpubpf_linux_carried *c, gpubpf_linux_element_fn each, gpubpf_merge_found_fn found, void *arg);
int gpubpf_linux_kernel_erase(void *side, const void *key);
/* Do programs of both sides take values out of the queue? */
bool gpubpf_linux_queue_is_split(const struct gpubpf_session *s, uint32_t map, bool takes);
/* One pass of c->merge, and a line where there was no room. */
int gpubpf_linux_merge(struct gpubpf_linux_carried *c);

#endif
