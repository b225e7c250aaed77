/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of the application: their records, and the operations that launches and the session use. */
#ifndef GPUBPF_HOOKS_DEVICE_H
#define GPUBPF_HOOKS_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "hooks/client/client.h"
#include "hooks/launch/launch.h"
#include "maps/host/mirror.h"

/* A device of the application: one record per pair of context and device. devices.c has the list of all records. */
struct gpubpf_hook_device {
	struct gpubpf_hook_device *next, **link; /* list of all devices */
	const struct gpubpf_hook_ops *ops;       /* operations of the device's runtime */
	struct gpubpf_device_open how;
	uint32_t number, ordinal, generation;
	pthread_mutex_t lock; /* protects the members below */
	enum { DEVICE_NEW, DEVICE_READY, DEVICE_REFUSED } state;
	atomic_int users; /* number of threads that load or unload twins on the device */
	atomic_bool gone; /* the application destroyed the device's context */
	struct gpubpf_reason why;
	struct gpubpf_device *device;
	struct gpubpf_request *arena_request; /* pending request for the arena */
	void *host;                           /* address of the arena in this process */
	int memory;                           /* memfd of the arena until the arena is attached; then -1 */
	/* bytes of the arena, bytes of its part in device memory, and bytes copied to the device so far */
	size_t size, own, filled;
	uint32_t rows;                             /* number of rows of the arena's map table that the device has */
	struct gpubpf_external_map *external_maps; /* the external maps in these rows of the table */
	uint64_t arena;                            /* device address of the arena */
	/* allocations.c */
	struct gpubpf_hook_device *next_table;
	atomic_uint_fast64_t allocations; /* arena offset of this process's allocation table; 0: no table */
	uint64_t allocations_version;
	/*
	 * For a device with its own memory: arena offset of the granule table and a copy of its contents. NULL: none.
	 */
	uint64_t granules_at, *granules;
	bool shared;
	bool is_exported;          /* the tool has a handle of the device memory, so report the final copy */
	atomic_bool dirty;         /* twins ran since the last copy */
	atomic_int running;        /* number of twins that have not ended */
	atomic_bool has_untracked; /* twins whose end the runtime does not report may be running */
	atomic_uint_fast64_t next_pull_ns;
	uint64_t next_clock_ns; /* earliest time of the next clock comparison */
	/* drain.c */
	atomic_bool has_launched; /* a twin was launched since the drain thread's last poll */
	atomic_bool drain_sleeps; /* the drain thread polls at its slowest rate */
	bool draining;
	atomic_bool stop;
	/* number of threads of a drain, and bytes that they copy at once, from the environment (0: automatic) */
	uint64_t drain_threads, drain_bytes;
	bool is_prefaulting; /* prefault.c: a thread prepares mirror memory of this device */
	size_t prefaulted;   /* prefault.c: value of `filled` up to which mirror memory is prepared */
	int64_t settle_ms;   /* how long the current copy waits for GPU kernels, in ms; -1: not at all */
	/* wakes the drain thread, and signals that a thread of drain.c or prefault.c has ended */
	pthread_cond_t drained;
};

/*
 * Open the device and attach its arena. Only the first call does this; later calls return the stored result. Returns
 * -EAGAIN if the session has not answered yet; then a later launch may try again.
 */
int gpubpf_device_make_ready(struct gpubpf_hook_device *device, struct gpubpf_reason *why);
/*
 * Copy to a ready device the maps that were added to the arena since the last copy. If a twin was requested after its
 * plan was read, the arena already holds all maps that the twin needs. Returns 0 or a negative errno value with the
 * reason in *why.
 */
int gpubpf_device_fill(struct gpubpf_hook_device *device, struct gpubpf_reason *why);
/*
 * external_maps.c: maps placed outside the device's own memory. The caller holds the device's lock.
 *
 * - fill: allocate memory for the external maps among the first `rows` rows of the map table, and copy the addresses of
 *   that memory to the device.
 * - copy: copy that memory to the arena, also while GPU kernels run. Maps whose memory is the arena's own pages are
 *   skipped.
 * - free: free that memory.
 */
int gpubpf_external_maps_fill(struct gpubpf_hook_device *device, uint32_t rows, struct gpubpf_reason *why);
void gpubpf_external_maps_copy(struct gpubpf_hook_device *device);
void gpubpf_external_maps_free(struct gpubpf_hook_device *device);
/*
 * Returns the address of the first value of the map with this row, if GPU kernels and this process share its memory.
 * Otherwise returns NULL. The caller does not hold the lock, and the device is ready.
 */
uint64_t *gpubpf_external_map_word(const struct gpubpf_hook_device *device, uint32_t row);
/*
 * shared_arena.c: gpubpf_shared_arena() maps the arena of memfd `fd`, for all devices that use host memory. Returns
 * MAP_FAILED on failure. gpubpf_shared_arena_part() replaces the pages at arena offsets [offset, offset + size) by
 * pages of `fd`, now and in later mappings. This function takes ownership of `fd` and returns false on failure. Both
 * functions set errno.
 */
void *gpubpf_shared_arena(int fd, size_t size);
bool gpubpf_shared_arena_part(int fd, uint64_t offset, uint64_t size);
void gpubpf_shared_arena_after_fork(void);
/*
 * allocations.c: call gpubpf_allocations_attach() when a device becomes ready or gets new maps, with the device's lock
 * held. If the device's arena has allocation tables, this process claims one of them. It holds the table until
 * gpubpf_allocations_detach() or until the process ends.
 */
void gpubpf_allocations_attach(struct gpubpf_hook_device *device);
void gpubpf_allocations_detach(struct gpubpf_hook_device *device);
void gpubpf_allocations_leave(void);
void gpubpf_allocations_after_fork(void);
/* Update the mirror of the device with this number; `asked` is the number of the tool's request. */
void gpubpf_device_pull(uint32_t number, uint32_t asked);
void gpubpf_devices_after_fork(void);
/*
 * Call when the process exits: copy back all arenas outside host memory for the last time. Waits at most 2 s for other
 * threads.
 */
void gpubpf_device_copy_all_at_exit(void);
/* Record that the process is exiting: from now on no agent thread calls the runtime. */
void gpubpf_devices_begin_exit(void);
bool gpubpf_devices_are_exiting(void);
bool gpubpf_device_any_copied_arena(void); /* does any device have an arena outside host memory? */

/*
 * Report to the tool that the final copy is complete (`copied`), or that the agent cannot copy and the tool must copy
 * instead. The caller holds the device's lock.
 */
void gpubpf_device_report_final_copy(struct gpubpf_hook_device *device, bool copied);

/*
 * drain.c: one thread per device copies records of ring buffers to the mirror while GPU kernels run. Only devices with
 * GPUBPF_CAP_DRAINS have such a thread. The caller holds the device's lock.
 */
void gpubpf_drain_start(struct gpubpf_hook_device *device);
void gpubpf_drain_stop(struct gpubpf_hook_device *device);
/*
 * prefault.c: one thread per device allocates and pins the pages of the mirror's ring buffers, on devices that copy
 * faster to pinned memory. This thread too is ended by gpubpf_drain_stop().
 */
void gpubpf_prepare_start(struct gpubpf_hook_device *device); /* the caller holds the device's lock */
void gpubpf_prepare_wait(struct gpubpf_hook_device *device);  /* waits for that thread, up to the wait budget */
/* Wake the drain thread when a launch follows a long idle time. The caller holds no lock. */
void gpubpf_drain_wake(struct gpubpf_hook_device *device);
/*
 * Returns the parameters for a copy of the device's arena. The copy waits up to settle_ms for GPU kernels; -1: not at
 * all.
 */
struct gpubpf_mirror gpubpf_device_mirror(struct gpubpf_hook_device *device, int64_t settle_ms);

/*
 * copy_back.c: wait until no twin runs, then copy the maps of all devices to their mirrors. Gives up at the deadline.
 */
enum gpubpf_held gpubpf_device_pull_snapshot(uint64_t deadline_ns);

/* clock.c */
void gpubpf_clock_read_baseline(void); /* takes the first of the two readings (clock.c) */
void gpubpf_clock_calibrate(struct gpubpf_hook_device *device);
/* The caller holds the device's lock, and the device is idle. */
void gpubpf_clock_recalibrate(struct gpubpf_hook_device *device);

#endif
