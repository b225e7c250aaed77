/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps that programs of the Linux kernel and those for a GPU have one each of, kept alike (MAPS.md).
 *
 *   linux_maps.c    which they are, and when what happens to one is carried to the other
 *   linux_sides.c   maps with one value a key            linux_percpu.c  with one a CPU, or multiprocessor
 *   linux_queue.c   queues and stacks
 */
#ifndef GPUBPF_SESSION_LINUX_MAPS_H
#define GPUBPF_SESSION_LINUX_MAPS_H

#include "core/load/linux_map.h"
#include "merge.h"
#include "session.h"

#define GPUBPF_LINUX_PASS_NS 10000000u /* from pass to pass, unless they take long */

/* Keep a map of the session like the kernel's of that descriptor, which lives as long; a load note tells why it cannot be.
 * takes: programs there take values out of a queue. After the session's first arena is there. */
void gpubpf_linux_maps_add(struct gpubpf_session *s, uint32_t map, int fd, bool takes);
void gpubpf_linux_maps_close(struct gpubpf_session *s);
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

/* -- inside -- */

struct gpubpf_linux_carried;

/* How maps of a kind are carried: 0 or -errno each. */
struct gpubpf_linux_kind {
	int (*open)(struct gpubpf_linux_carried *c);       /* -E2BIG: values are too large */
	int (*pass)(struct gpubpf_linux_carried *c);
	void (*close)(struct gpubpf_linux_carried *c);     /* also of one that did not open */
};

extern const struct gpubpf_linux_kind gpubpf_linux_sides, gpubpf_linux_percpu, gpubpf_linux_queue;

struct gpubpf_linux_carried {
	struct gpubpf_session *s;
	uint32_t map;
	int fd;                            /* the kernel's, not owned */
	const struct gpubpf_linux_kind *kind;
	struct gpubpf_linux_map *kernel;
	struct gpubpf_merge *merge;        /* NULL: keys neither come nor go */
	uint32_t word;                     /* bytes; 0: values change as a whole */
	bool told;                         /* that there was no room */
	gpubpf_merge_found_fn found;       /* of the walk in hand */
	void *arg;
	uint8_t *zeros;                    /* of a value a multiprocessor, or CPU: as many as there are */
	bool takes;                        /* the kernel's programs take values out, and so they go there */
	uint8_t *hand;                     /* [in_hand] values that are on their way, the oldest first; max_entries at most */
	uint32_t in_hand;
};

static inline const struct gpubpf_map *gpubpf_linux_carried_map(const struct gpubpf_linux_carried *c)
{
	return &c->s->loaded->unit.maps[c->map];
}

/* The kernel's side of merge.c: `each` tells of an element by c->found, */
int gpubpf_linux_kernel_each(struct gpubpf_linux_carried *c, gpubpf_linux_element_fn each, gpubpf_merge_found_fn found, void *arg);
int gpubpf_linux_kernel_erase(void *side, const void *key);
/* One pass of c->merge, and a line where there was no room. */
int gpubpf_linux_merge(struct gpubpf_linux_carried *c);

#endif
