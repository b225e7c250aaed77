/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of the application, for the launch path: their records, and the operations that launches and the session
 * use. */
#ifndef GPUBPF_HOOKS_DEVICE_H
#define GPUBPF_HOOKS_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "hooks/client/client.h"
#include "hooks/launch/launch.h"
#include "maps/host/mirror.h"

/* one per pair of context and device; devices.c has the list of all */
struct gpubpf_hook_device {
	struct gpubpf_hook_device *next, **link; /* list of all devices */
	const struct gpubpf_hook_ops *ops;       /* operations of its runtime */
	struct gpubpf_device_open how;
	uint32_t number, ordinal, generation;
	pthread_mutex_t lock; /* protects the members below */
	enum { DEVICE_NEW, DEVICE_READY, DEVICE_REFUSED } state;
	atomic_int users; /* threads that load or unload twins on the device */
	atomic_bool gone; /* the application destroyed its context */
	struct gpubpf_reason why;
	struct gpubpf_device *device;
	struct gpubpf_request *arena_request; /* pending request for the arena */
	void *host;                           /* host mapping of the arena */
	int memory;                           /* memfd of the arena until it is attached; then -1 */
	size_t size, own, filled; /* bytes: whole arena; its part in device memory; copied to the device so far */
	uint32_t rows;            /* rows of the arena's map table copied to the device */
	struct gpubpf_external_map *external_maps; /* external maps among these rows (external_maps.c) */
	uint64_t arena;                            /* device address of the arena, passed to twins */
	/* allocations.c */
	struct gpubpf_hook_device *next_table;
	atomic_uint_fast64_t allocations; /* arena offset of the process's allocation table; 0: unused */
	uint64_t allocations_version;
	/* arena offset of the granule table, and its contents on a device with its own memory; NULL: none */
	uint64_t granules_at, *granules;
	bool shared;
	bool is_exported;          /* the tool holds the device memory too: report the final copy */
	atomic_bool dirty;         /* twins ran since the last copy */
	atomic_int running;        /* twins that have not ended */
	atomic_bool has_untracked; /* twins may run whose end the runtime does not report */
	atomic_uint_fast64_t next_pull_ns;
	uint64_t next_clock_ns; /* earliest time of the next clock comparison */
	/* drain.c */
	atomic_bool has_launched; /* a twin was launched since the drain thread's last poll */
	atomic_bool drain_sleeps; /* the drain thread polls at its slowest rate */
	bool draining;
	atomic_bool stop;
	/* threads of a drain, and bytes that it copies at once; from the environment; 0: automatic */
	uint64_t drain_threads, drain_bytes;
	bool is_prefaulting;    /* prefault.c: the thread of this device is running */
	size_t prefaulted;      /* the first `prefaulted` bytes of `filled` are prefaulted */
	int64_t settle_ms;      /* how long a copy in progress waits for kernels; -1: not at all */
	pthread_cond_t drained; /* wakes the drain thread; also signals the end of its threads */
};

/* Open the device and attach its arena once; later calls return the stored result. -EAGAIN: the session has not
 * answered yet, and a later launch may try again. */
int gpubpf_device_make_ready(struct gpubpf_hook_device *device, struct gpubpf_reason *why);
/* Copy maps of objects that joined the session since the device was filled to a ready device. The arena already holds
 * all maps that a twin needs if the twin was requested after its plan was read. Returns 0 or -errno with the reason. */
int gpubpf_device_fill(struct gpubpf_hook_device *device, struct gpubpf_reason *why);
/*
 * external_maps.c: maps placed outside the device's own memory. The caller holds the device's lock.
 * gpubpf_external_maps_fill() allocates memory for such maps among the first `rows` rows and copies their addresses to
 * the device. gpubpf_external_maps_copy() copies that memory to the arena, also while kernels run, unless the two share
 * pages. gpubpf_external_maps_free() frees that memory.
 */
int gpubpf_external_maps_fill(struct gpubpf_hook_device *device, uint32_t rows, struct gpubpf_reason *why);
void gpubpf_external_maps_copy(struct gpubpf_hook_device *device);
void gpubpf_external_maps_free(struct gpubpf_hook_device *device);
/* shared_arena.c: gpubpf_shared_arena() maps the arena of memfd `fd`, for all devices that use host memory. It returns
 * MAP_FAILED on failure. gpubpf_shared_arena_part() makes `fd` provide pages [offset, offset + size) of the arena, now
 * and in later mappings. It takes ownership of `fd` and returns false on failure. Both set errno. */
void *gpubpf_shared_arena(int fd, size_t size);
bool gpubpf_shared_arena_part(int fd, uint64_t offset, uint64_t size);
void gpubpf_shared_arena_after_fork(void);
/*
 * allocations.c: call gpubpf_allocations_attach() when a device is ready or has new maps, with the device's lock held.
 * If the device's arena has allocation tables, this process claims one until gpubpf_allocations_detach() or the end of
 * the process.
 */
void gpubpf_allocations_attach(struct gpubpf_hook_device *device);
void gpubpf_allocations_detach(struct gpubpf_hook_device *device);
void gpubpf_allocations_leave(void);
void gpubpf_allocations_after_fork(void);
/* Update the mirror of the numbered device; `asked` is the number of the tool's request. */
void gpubpf_device_pull(uint32_t number, uint32_t asked);
void gpubpf_devices_after_fork(void);
/* Process exit: copy back arenas outside host memory for the last time. Waits at most 2 s for other threads. */
void gpubpf_device_copy_all_at_exit(void);
/* The process is exiting: no agent thread calls the runtime again. */
void gpubpf_devices_begin_exit(void);
bool gpubpf_devices_are_exiting(void);
bool gpubpf_device_any_copied_arena(void); /* is some arena outside host memory? */

/* Report to the tool that the final copy is complete (`copied`), or that the agent cannot copy and the tool must. The
 * caller holds the device's lock. */
void gpubpf_device_report_final_copy(struct gpubpf_hook_device *device, bool copied);

/*
 * drain.c: one thread per device copies ring records to the mirror while kernels run. Only for devices with
 * GPUBPF_CAP_DRAINS. The caller holds the device's lock.
 */
void gpubpf_drain_start(struct gpubpf_hook_device *device);
void gpubpf_drain_stop(struct gpubpf_hook_device *device);
/*
 * prefault.c: one thread per device allocates and pins the mirror memory of its rings, if copies to pinned memory are
 * faster. gpubpf_drain_stop() ends this thread too.
 */
void gpubpf_prepare_start(struct gpubpf_hook_device *device); /* the caller holds the device's lock */
void gpubpf_prepare_wait(struct gpubpf_hook_device *device);  /* waits for that thread, as long as launches may wait */
/* Wake the drain thread: a launch follows a long idle time. The caller holds no lock. */
void gpubpf_drain_wake(struct gpubpf_hook_device *device);
/* How to copy a device's arena. The copy waits for kernels up to settle_ms; -1: not at all. */
struct gpubpf_mirror gpubpf_device_mirror(struct gpubpf_hook_device *device, int64_t settle_ms);

/* copy_back.c: wait until no twin runs, then copy all devices' maps to their mirrors; until the deadline. */
enum gpubpf_held gpubpf_device_pull_snapshot(uint64_t deadline_ns);

/* clock.c */
void gpubpf_clock_read_baseline(void); /* takes the first of two readings */
void gpubpf_clock_calibrate(struct gpubpf_hook_device *device);
/* The caller holds the device's lock, and the device is idle. */
void gpubpf_clock_recalibrate(struct gpubpf_hook_device *device);

#endif
