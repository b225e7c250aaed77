/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal interfaces of the launch path: session client, kernel table, notes, clock, devices and twins. hooks/launch/launch.h holds
 * the part that adapters use.
 *
 * Calls lead from the adapters to hooks/launch, then hooks/device, hooks/unwind, hooks/client and hooks/process. The client
 * calls the launch path by the handlers that it is passed.
 *
 * Lock order, outermost first: program, kernel, device, session. The agent holds no lock while application or vendor
 * code runs, except a kernel's lock while it creates the kernel's twin. Every wait has a limit. A launch takes no lock:
 * it reads the generation and the binding of a dispatch entry, which stay valid as long as the kernel.
 */
#ifndef GPUBPF_HOOKS_AGENT_H
#define GPUBPF_HOOKS_AGENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/wire/name.h"
#include "core/wire/msg.h"
#include "hooks/launch/launch.h"
#include "hooks/process/agent_thread.h"
#include "maps/host/mirror.h"

/* hooks/process/environ.c: the one file that reads the environment. NULL: the variable is not set. */
const char *gpubpf_env_session(void);
const char *gpubpf_env_backend(void);
uint64_t gpubpf_env_drain_threads(void);            /* 0: not set, or out of range */
uint64_t gpubpf_env_drain_bytes(void);

/* hooks/process/time.c */
void gpubpf_cond_init(pthread_cond_t *cond);        /* the condition waits by CLOCK_MONOTONIC */
/* Returns true if the condition may hold, false when the deadline has passed. */
bool gpubpf_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns);

/*
 * hooks/client/client.c: one connection per process. The process joins once. It loses the session for good when the tool exits or
 * breaks the protocol. The child of a fork starts unconnected and joins again.
 */
struct gpubpf_request;

/*
 * What the client needs of the launch path. The functions run in the reader thread, except `has_copied_arena`, which
 * runs in any thread, and `reset_child`.
 */
struct gpubpf_client_handlers {
	/* map these pages of the arena from `fd`, which it owns from now on; false: errno says why */
	bool (*share)(int fd, uint64_t offset, uint64_t size);
	void (*pull)(uint32_t device, uint32_t asked);   /* update the mirror of the numbered device */
	void (*hold)(uint32_t ms);                       /* pause launches, copy all maps and report it */
	bool (*has_copied_arena)(void);                  /* does an arena outside host memory exist? */
	void (*copy_all_at_exit)(void);
	void (*reset_child)(void);                       /* in the child of a fork: forget the parent's devices */
};

/* Called once per runtime; a process may use several, with the same handlers. */
int gpubpf_session_join(const char *backend, const struct gpubpf_client_handlers *handlers);
void gpubpf_session_rejoin(void);                   /* in the child of a fork, once; otherwise costs one load */
/* The process is about to exit: ask the tool to read the rings, and wait up to a limit for its answer. Acts once per
 * process. Does not wait for a lock and allocates no memory. */
void gpubpf_session_flush_rings(void);
/* hooks/process/session_state.c: a seccomp filter forbids calls that the agent makes; it makes none from now on. */
bool gpubpf_session_sealed(void);
/* Number of a system call that probing needs and that an earlier filter kills the process for; -1: none found. If
 * call `nr` is forbidden, gpubpf_lockdown_allows_stderr() says whether the agent can still write to standard error. */
int gpubpf_lockdown_find_call(void);
bool gpubpf_lockdown_allows_stderr(int nr);
bool gpubpf_lockdown_allows_stack_reads(void); /* can the agent make the calls that reading stacks takes? */
/* Like gpubpf_log_once(), but always to standard error, and also after a filter has ended the session. */
void gpubpf_log_stderr(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool gpubpf_session_up(void);
bool gpubpf_session_enabled(void);                  /* up, and the tool allows twins */
/* hooks/process/session_state.c */
bool gpubpf_session_joined(void);                   /* this process itself has joined once */
bool gpubpf_session_owned(void);                    /* the same, and this is not the child of vfork() */
uint32_t gpubpf_session_generation(void);           /* changes in the child of a fork */
void gpubpf_image_note_cached(uint64_t identity);     /* hooks/launch/images.c: the session has cached this image */
struct gpubpf_kernel_table *gpubpf_session_kernel_table(void);    /* NULL before the first session */
uint32_t gpubpf_session_process(void);
uint32_t gpubpf_session_wait_ms(void);
const char *gpubpf_session_strerror(int err);       /* for errors that the functions below return */
/* The user's selection of launches to probe. */
uint64_t gpubpf_session_sample(void);
uint64_t gpubpf_session_first(void);
uint32_t gpubpf_session_flags(void);           /* enum gpubpf_welcome_flags */

/* Send a request; starts the reader thread. The caller waits with gpubpf_request_wait() and releases its reference
 * with gpubpf_request_drop(), once more per gpubpf_request_hold(). */
int gpubpf_client_request(enum gpubpf_msg type, const struct gpubpf_writer *payload, const int *fds,
		       uint32_t nfds, struct gpubpf_request **request);
/* Is there room for one more twin request? False if the tool has stopped reading its socket. */
bool gpubpf_client_can_request(void);
int gpubpf_client_notify(enum gpubpf_msg type, const struct gpubpf_writer *payload);
/* Also sends a descriptor; -1: none. */
int gpubpf_client_notify_fd(enum gpubpf_msg type, const struct gpubpf_writer *payload, int fd);
/* 0, -ETIMEDOUT (may be called again), or -EPIPE: the session was lost. */
int gpubpf_request_wait(struct gpubpf_request *request, uint64_t deadline_ns);
bool gpubpf_request_is_done(const struct gpubpf_request *request); /* one load; never waits */
struct gpubpf_packet *gpubpf_request_answer(struct gpubpf_request *request);
void gpubpf_request_hold(struct gpubpf_request *request);
void gpubpf_request_drop(struct gpubpf_request *request);

/*
 * hooks/launch/plan.c: a snapshot of the attached programs. A launch reads only the generation. None of these functions takes a
 * lock.
 */
struct gpubpf_plan {
	uint64_t generation;                        /* always even */
	uint32_t n;
	struct gpubpf_plan_entry entry[];
};

struct gpubpf_plan *gpubpf_plan_read(void); /* copy for free(). NULL: out of memory, or the tool is writing it */
/* Stores the links whose pattern matches the name in `links`, which has room for all of them. Returns their number. */
uint32_t gpubpf_plan_links(const struct gpubpf_plan *plan, const char *name, uint32_t *links);
bool gpubpf_plan_matches(const struct gpubpf_plan *plan, const char *name); /* does any pattern match? */

static inline uint64_t gpubpf_plan_generation(void)
{
	const struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();

	return table ? __atomic_load_n(&table->plan, __ATOMIC_ACQUIRE) : 0;
}

/*
 * hooks/client/wait_budget.c: until when this thread may wait for the session, in gpubpf_now_ns() time. It may not wait if that is 0 or
 * past. Each gpubpf_wait_budget_begin() needs a gpubpf_wait_budget_end(), which subtracts the time waited from the process's
 * --wait budget.
 */
uint64_t gpubpf_wait_budget_begin(void);
void gpubpf_wait_budget_end(void);
void gpubpf_wait_budget_suspend(void);                 /* the tool missed a deadline: stop waiting for it, */
bool gpubpf_wait_budget_is_suspended(void);
bool gpubpf_wait_budget_is_left(void);                    /* a launch may wait now */
void gpubpf_wait_budget_resume(void);                   /* until the tool sends something again */
void gpubpf_wait_budget_exempt(bool exempt);           /* do waits of this thread not use the budget? */

/* hooks/client/kernel_table.c: shared counters of one kernel name on one device, and counters private to this process */
struct gpubpf_kernel_entry {
	struct gpubpf_kernel_entry *next;
	struct gpubpf_kernel_row *shared;
	atomic_uint_fast64_t number;                /* number of the next launch */
	atomic_uint_fast64_t taken;                 /* launches counted against --first */
	uint64_t copying;                           /* launches whose results the current copy of the maps includes */
	uint32_t generation, device;
	const char *backend;
	char name[];
};

/* begun: the kernel is launched, or recorded for a later launch. */
struct gpubpf_kernel_entry *gpubpf_kernel_entry(const char *name, const struct gpubpf_hook_device *device, bool begun);
void gpubpf_kernel_table_note_launched(struct gpubpf_kernel_entry *entry);
void gpubpf_kernel_table_set_state(struct gpubpf_kernel_entry *entry, enum gpubpf_kernel_state state, const char *reason);
void gpubpf_kernel_table_add(uint64_t *word, uint64_t n);
/* A copy of the device's maps begins, or has finished: record how many launches it covers. */
void gpubpf_kernel_table_begin_copy(const struct gpubpf_hook_device *device);
void gpubpf_kernel_table_end_copy(const struct gpubpf_hook_device *device);

/* hooks/device/device.c; hooks/device/devices.c has the list */
struct gpubpf_hook_device {
	struct gpubpf_hook_device *next, **link;    /* list of all devices */
	const struct gpubpf_hook_ops *ops;          /* operations of its runtime */
	struct gpubpf_device_open how;
	uint32_t number, ordinal, generation;
	pthread_mutex_t lock;                       /* protects the members below */
	enum { DEVICE_NEW, DEVICE_READY, DEVICE_REFUSED } state;
	atomic_int users;                           /* threads that load or unload twins on the device */
	atomic_bool gone;                           /* the application destroyed its context */
	struct gpubpf_reason why;
	struct gpubpf_device *device;
	struct gpubpf_request *asked;               /* pending request for the arena */
	void *host;                                 /* host mapping of the arena, */
	int memory;                                 /* and its memfd until the device has the arena; then -1 */
	size_t size, own, filled; /* bytes: of the whole arena, of the device's own part, of its filled part */
	uint32_t rows;                              /* rows of the arena's map table that the device has */
	struct gpubpf_external_map *elsewhere;         /* maps among these that lie outside the arena (hooks/device/external_maps.c) */
	uint64_t arena;                             /* device address of the arena, passed to twins */
	/* hooks/device/allocations.c */
	struct gpubpf_hook_device *next_table;
	atomic_uint_fast64_t allocations;           /* arena offset of the process's allocation table; 0: unused */
	uint64_t allocations_version;
	/* granule table as a device with its own memory has it; NULL: not maintained */
	uint64_t granules_at, *granules;
	bool shared;
	bool kept;                                  /* the tool also holds its memory and must learn of the last copy */
	atomic_bool dirty;                          /* twins ran since the last copy */
	atomic_int running;                         /* twins that have not ended */
	atomic_bool has_untracked;                     /* other twins run whose end the runtime does not report */
	atomic_uint_fast64_t next_pull_ns;
	uint64_t next_clock_ns;                     /* earliest time of the next clock comparison */
	/* hooks/device/drain.c */
	atomic_bool fresh;                          /* twins were launched since the drain thread last looked */
	atomic_bool drain_sleeps;                         /* the drain thread polls at its slowest rate */
	bool draining;
	atomic_bool stop;
	uint64_t drain_threads, drain_bytes;        /* from the environment; 0: automatic */
	bool preparing;                             /* hooks/device/prefault.c: its thread is running */
	size_t prepared;                            /* bytes of `filled` that are prepared */
	int64_t settle_ms;                          /* wait for kernels, or -1: inspect their records instead */
	pthread_cond_t drained;                     /* the drain thread has work, or a thread of the device has ended */
};

/* Open the device and attach its arena once; later calls return the stored result. -EAGAIN: the session has not
 * answered yet, and a later launch may try again. */
int gpubpf_device_make_ready(struct gpubpf_hook_device *device, struct gpubpf_reason *why);
/* Copy maps of objects that joined the session later to a ready device. The arena already holds all maps that a twin
 * needs if the twin was requested after its plan was read. Returns 0 or -errno with the reason. */
int gpubpf_device_fill(struct gpubpf_hook_device *device, struct gpubpf_reason *why);
/*
 * hooks/device/external_maps.c: maps placed outside the device's own memory. The caller holds the device's lock. A call of
 * gpubpf_external_maps_fill() allocates memory for such maps among the first `rows` rows and reports their addresses to the
 * device. External memory is copied to the arena by gpubpf_external_maps_copy(), also while kernels run, unless the two
 * share pages. Finally gpubpf_external_maps_free() frees everything.
 */
int gpubpf_external_maps_fill(struct gpubpf_hook_device *device, uint32_t rows, struct gpubpf_reason *why);
void gpubpf_external_maps_copy(struct gpubpf_hook_device *device);
void gpubpf_external_maps_free(struct gpubpf_hook_device *device);
/* hooks/device/shared_arena.c: maps the arena in that memfd, for all devices that use host memory. Returns MAP_FAILED and errno
 * on failure. A call of gpubpf_shared_arena_part() maps these pages from `fd` instead, now and in future mappings.
 * It takes ownership of `fd` and returns false and errno on failure. */
void *gpubpf_shared_arena(int fd, size_t size);
bool gpubpf_shared_arena_part(int fd, uint64_t offset, uint64_t size);
void gpubpf_shared_arena_after_fork(void);
/*
 * hooks/device/allocations.c: call gpubpf_allocations_attach() when a device is ready or has new maps, with the device's lock held.
 * If its arena has allocation tables, this process claims one, until gpubpf_allocations_detach() or the end of the
 * process.
 */
void gpubpf_allocations_attach(struct gpubpf_hook_device *device);
void gpubpf_allocations_detach(struct gpubpf_hook_device *device);
void gpubpf_allocations_leave(void);
void gpubpf_allocations_after_fork(void);
/*
 * hooks/unwind/stacks.c: number of the calling thread's stack, starting at the first function outside this library. Skips `skip`
 * frames and keeps at most `depth`. 0: unknown, or not answered yet. The number goes into the spare bits of the launch
 * word with the process id, as gpubpf_stack_word() places it.
 */
uint32_t gpubpf_stack_current_number(uint32_t skip, uint32_t depth);
uint64_t gpubpf_stack_word(uint32_t number);
void gpubpf_stacks_after_fork(void);
/* Update the mirror of the numbered device; `asked` is the number of the tool's request. */
void gpubpf_device_pull(uint32_t number, uint32_t asked);
void gpubpf_devices_after_fork(void);
/* Process exit: copy back arenas outside host memory for the last time. Waits at most 2 s for other threads. */
void gpubpf_device_copy_all_at_exit(void);
/* The process is exiting: no agent thread calls the runtime again. */
void gpubpf_devices_begin_exit(void);
bool gpubpf_devices_are_exiting(void);
bool gpubpf_device_any_copied_arena(void);                    /* does such an arena exist? */

/* Tell the tool that the final copy is complete, or that the agent cannot copy and the tool must. The caller holds
 * the device's lock. */
void gpubpf_device_report_final_copy(struct gpubpf_hook_device *device, bool copied);

/*
 * hooks/device/drain.c: one thread per device that continuously copies ring records to the mirror. Needs a device that can copy
 * while kernels run (GPUBPF_CAP_DRAINS). The caller holds the device's lock.
 */
void gpubpf_drain_start(struct gpubpf_hook_device *device);
void gpubpf_drain_stop(struct gpubpf_hook_device *device);
/*
 * hooks/device/prefault.c: one thread per device that allocates and pins the mirror memory of its rings, if the device benefits from
 * it. gpubpf_drain_stop() ends it too.
 */
void gpubpf_prepare_start(struct gpubpf_hook_device *device); /* the caller holds the device's lock */
void gpubpf_prepare_wait(struct gpubpf_hook_device *device);  /* waits for it as long as launches may wait */
/* A launch follows a long idle time. The caller holds no lock. */
void gpubpf_drain_wake(struct gpubpf_hook_device *device);
/* How to copy a device's arena. It waits for kernels up to settle_ms; -1: not at all. */
struct gpubpf_mirror gpubpf_device_mirror(struct gpubpf_hook_device *device, int64_t settle_ms);

/* hooks/client/log_once.c: is the descriptor still that file? The application may have closed it and reused the number. */
struct stat;
bool gpubpf_same_file(int fd, const struct stat *known);

/*
 * hooks/launch/hold.c: a consistent snapshot of the maps for the tool. Launches of twins pause briefly while the agent waits for
 * running twins and copies the maps. A launch of a followed twin counts itself as running with gpubpf_hold_enter().
 */
void gpubpf_hold_launches(uint32_t ms);
void gpubpf_hold_enter(struct gpubpf_hook_device *device);
/* hooks/device/copy_back.c: copy all devices' mirrors while nothing runs, until the deadline. */
enum gpubpf_held gpubpf_device_pull_snapshot(uint64_t deadline_ns);

/* hooks/device/clock.c */
void gpubpf_clock_read_baseline(void);                      /* takes the first of two readings */
void gpubpf_clock_calibrate(struct gpubpf_hook_device *device);
void gpubpf_clock_recalibrate(struct gpubpf_hook_device *device); /* the caller holds the device's lock; the device is idle */

/* hooks/launch/twin_module.c */
struct gpubpf_twin_module;                             /* the twins of a program on a device */

struct gpubpf_hook_program {
	const struct gpubpf_hook_ops *ops;
	void *adapter;
	atomic_uint owners, refs; /* owners are the adapter and its kernels; refs also count agent threads */
	uint32_t generation;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct gpubpf_twin_module *sets;
	bool closed;                                /* the last owner is gone: nothing of it stays loaded */
	char *_Atomic kernels;                      /* all kernel names, separated by ';', or NULL before the query */
};

/*
 * A kernel's twin for one set of links, or the reason why there is no twin. It is immutable once a launch can choose
 * it, and it lives as long as the kernel. A launch may use it, a graph may hold it, and a later plan may select it
 * again.
 */
struct gpubpf_hook_binding {
	struct gpubpf_hook_binding *next;
	const struct gpubpf_twin_module *set;          /* NULL: out of memory, or too many modules */
	void *twin;                                 /* NULL: refused */
	uint32_t twin_flags;
	bool listed;                                /* refused without a reason: the kernel was only inspected */
	char reason[240];
	uint32_t nlinks, links[];                   /* links whose patterns match this kernel */
};

#define GPUBPF_NO_PLAN UINT64_MAX

struct gpubpf_dispatch_entry {                         /* dispatch entry: what launches of a kernel on a device run */
	struct gpubpf_dispatch_entry *next;
	struct gpubpf_hook_kernel *kernel;
	struct gpubpf_hook_device *device;
	struct gpubpf_kernel_entry *entry;
	atomic_uint_fast64_t plan;                  /* plan generation of `binding`; GPUBPF_NO_PLAN: none yet */
	_Atomic(struct gpubpf_hook_binding *) binding; /* NULL: nothing is attached to the kernel */
	struct gpubpf_hook_binding *bindings;       /* all bindings; protected by the kernel's lock */
	atomic_bool ahead, unused;                  /* bound but not launched yet; a caller waited for its twin */
	atomic_bool aside;                          /* an agent thread is refreshing the binding */
	atomic_uint registers;                      /* register limit per thread of its twin; 0: no limit */
	bool wide;                                  /* no twin within the limit could be built; kernel's lock */
};

/* Does a launch get a twin now? */
static inline bool gpubpf_entry_has_twin(const struct gpubpf_dispatch_entry *choice)
{
	const struct gpubpf_hook_binding *b = atomic_load_explicit(&choice->binding, memory_order_acquire);

	return b && b->twin;
}

struct gpubpf_hook_kernel {
	struct gpubpf_hook_program *program;
	void *adapter;
	atomic_bool wanted;                         /* a plan matches it, or one did */
	atomic_bool gone;                           /* the application released it; adapter handles are invalid */
	atomic_uint refs;
	uint32_t generation;
	pthread_mutex_t lock;
	_Atomic(struct gpubpf_dispatch_entry *) choices;
	char name[GPUBPF_NAME_SIZE];                /* name as the session knows it, */
	char whole[];                               /* full name */
};

/*
 * Refresh the binding of an entry whose generation differs from the plan's. Waits for the session as long as the user
 * allows (--wait); without `may_wait` it builds nothing. True: the plan matches this kernel.
 */
bool gpubpf_twin_refresh_binding(struct gpubpf_dispatch_entry *choice, bool may_wait);
/* Request the twins without waiting, so that a program that exits soon has still requested them all (gpubpf
 * prepare). */
void gpubpf_twin_request(struct gpubpf_dispatch_entry *choice);
/* A program was detached long ago and the entry's twin still contains it: make launches run the original. */
void gpubpf_twin_drop_detached(struct gpubpf_dispatch_entry *choice);
/* Launches leave room for only `registers` registers per thread: invalidate the binding unless the limit was known. */
void gpubpf_twin_limit_registers(struct gpubpf_dispatch_entry *choice, uint32_t registers);
void gpubpf_twin_modules_destroy(struct gpubpf_hook_program *program);
/* Unload the modules of the program's twins. */
void gpubpf_twin_modules_unload(struct gpubpf_hook_program *program);

/* hooks/launch/kernel.c: references to a kernel's record; they do not cover adapter state */
void gpubpf_hook_kernel_hold(struct gpubpf_hook_kernel *kernel);
void gpubpf_hook_kernel_put(struct gpubpf_hook_kernel *kernel);

/*
 * hooks/launch/async_twins.c: start an agent thread that refreshes the binding. Never waits. False: not possible now; a later launch
 * may try again.
 */
bool gpubpf_agent_job_start(struct gpubpf_dispatch_entry *choice);
/* Is this an agent thread? Its waits do not count against --wait. It waits in slices while gpubpf_agent_job_may_continue(). */
bool gpubpf_is_agent_thread(void);
bool gpubpf_agent_job_may_continue(void);
uint64_t gpubpf_agent_job_slice_end(void);
/* In other threads these do nothing. False: the kernel or device is gone, or the process is exiting; then do not
 * leave. The agent may call the device's runtime between use and leave. It uses the adapter's kernel and program
 * only with the kernel's lock held. */
bool gpubpf_agent_job_use_device(void);
void gpubpf_agent_job_leave_device(void);
bool gpubpf_agent_job_use_kernel(void);
void gpubpf_agent_job_leave_kernel(void);
void gpubpf_agent_jobs_after_fork(void);

#endif
