/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the launch path share: the session's client, the kernel table, notes, the clock, devices
 * and twins. What adapters need of it stands in launch.h.
 *
 * Locks, in the order in which they may nest: a program's, a kernel's, a device's, the session's. None
 * is held while the application's or the vendor's code runs, but a kernel's while its twin is made. No
 * wait is without a limit. A launch takes none: what it reads of a choice is a generation and a binding,
 * which stay valid as long as the kernel.
 */
#ifndef GPUBPF_HOOKS_AGENT_H
#define GPUBPF_HOOKS_AGENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/wire/name.h"
#include "core/wire/msg.h"
#include "launch.h"
#include "maps/mirror.h"

/* environ.c: the one file that reads the environment; NULL where nothing is set */
const char *gpubpf_env_session(void);
const char *gpubpf_env_backend(void);
uint64_t gpubpf_env_drain_threads(void);            /* 0: not set, or none that can be */
uint64_t gpubpf_env_drain_bytes(void);

/* time.c */
void gpubpf_cond_init(pthread_cond_t *cond);        /* one that waits by CLOCK_MONOTONIC */
/* True if the condition may hold, false when the deadline has passed. */
bool gpubpf_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns);

/*
 * session.c: one connection a process. Joined once; lost for good when the tool goes away or breaks a
 * rule. The child of a fork starts without one and joins anew.
 */
struct gpubpf_request;

int gpubpf_session_join(const char *backend);       /* for a runtime of this process, which may have several */
void gpubpf_session_rejoin(void);                   /* in the child of a fork, once; else a load */
/* The process is about to end: have the tool read what is in rings, and wait for that a while. Once, and for no lock; it
 * allocates nothing. */
void gpubpf_session_read(void);
/* The process is about to end without its handlers: let the reader thread do what those would have done, and wait
 * for that a while. Takes no lock and allocates nothing. */
void gpubpf_session_leave(void);
/* The program gives up system calls, the one of this number among them: end the session, and call nothing more. */
void gpubpf_session_seal(int nr);
bool gpubpf_session_sealed(void);
/* The number of a system call that probing needs and for which a filter that was there before us would end the process,
 * -1: none is known. Both kinds of filter are asked in one order: when one forbids call nr, can that be said? */
int gpubpf_lockdown_found(void);
bool gpubpf_lockdown_lets_tell(int nr);
bool gpubpf_lockdown_lets_look(void); /* at stacks that it takes system calls to know */
/* As gpubpf_hook_note(), to standard error alone, also when the session has ended so. */
void gpubpf_hook_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool gpubpf_session_up(void);
bool gpubpf_session_joined(void);                   /* once, by this process itself */
bool gpubpf_session_owned(void);                    /* the same, and this is no child of vfork() */
bool gpubpf_session_enabled(void);                  /* up, and twins may be chosen */
uint32_t gpubpf_session_generation(void);           /* changes in the child of a fork */
void gpubpf_image_note_kept(uint64_t identity);     /* images.c: the session keeps it */
struct gpubpf_kernel_table *gpubpf_session_kernel_table(void);    /* NULL before the first session */
uint32_t gpubpf_session_process(void);
uint32_t gpubpf_session_wait_ms(void);
const char *gpubpf_session_strerror(int err);       /* of what the functions below answer */
/* Which launches are probed, as the user said. */
uint64_t gpubpf_session_sample(void);
uint64_t gpubpf_session_first(void);
uint32_t gpubpf_session_flags(void);           /* enum gpubpf_welcome_flags */

/* Ask; the answer is waited for with gpubpf_request_wait() and ends with gpubpf_request_drop(), once more for each
 * gpubpf_request_hold(). Starts the reader thread. */
int gpubpf_session_ask(enum gpubpf_msg type, const struct gpubpf_writer *payload, const int *fds,
		       uint32_t nfds, struct gpubpf_request **request);
/* Is there room for one more request for a twin? Not where the tool does not read what it was sent. */
bool gpubpf_session_may_ask(void);
int gpubpf_session_tell(enum gpubpf_msg type, const struct gpubpf_writer *payload);
/* With a descriptor; -1: none. */
int gpubpf_session_tell_fd(enum gpubpf_msg type, const struct gpubpf_writer *payload, int fd);
/* 0, -ETIMEDOUT (may be called again), -EPIPE: the session was lost. */
int gpubpf_request_wait(struct gpubpf_request *request, uint64_t deadline_ns);
bool gpubpf_request_settled(const struct gpubpf_request *request); /* one load; never waits */
struct gpubpf_packet *gpubpf_request_answer(struct gpubpf_request *request);
void gpubpf_request_hold(struct gpubpf_request *request);
void gpubpf_request_drop(struct gpubpf_request *request);

/*
 * plan.c: what is attached, as one read it. A launch reads the generation alone, and no lock is needed for any of it.
 */
struct gpubpf_plan {
	uint64_t generation;                        /* even */
	uint32_t n;
	struct gpubpf_plan_entry entry[];
};

struct gpubpf_plan *gpubpf_plan_read(void);         /* a copy, for free(). NULL: out of memory, or it is being written */
/* Links whose pattern matches the name, into `links` with room for all, NULL: none. How many. */
uint32_t gpubpf_plan_links(const struct gpubpf_plan *plan, const char *name, uint32_t *links);
bool gpubpf_plan_matches(const struct gpubpf_plan *plan, const char *name); /* some pattern of it */

static inline uint64_t gpubpf_plan_generation(void)
{
	const struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();

	return table ? __atomic_load_n(&table->plan, __ATOMIC_ACQUIRE) : 0;
}

/*
 * patience.c: until when this thread may wait for the session, in gpubpf_now_ns()'s time; 0 or past: not at all.
 * Each begin() has its end(), which takes what was waited off the process's --wait.
 */
uint64_t gpubpf_patience_begin(void);
void gpubpf_patience_end(void);
void gpubpf_patience_give_up(void);                 /* a question was not answered in time: wait for none, */
bool gpubpf_patience_gone(void);
bool gpubpf_patience_left(void);                    /* a launch may wait now */
void gpubpf_patience_renew(void);                   /* until something has come from the tool */

/* kernel_table.c: the shared counters of one kernel name on one device, and what only this process counts */
struct gpubpf_kernel_entry {
	struct gpubpf_kernel_entry *next;
	struct gpubpf_kernel_row *shared;
	atomic_uint_fast64_t number;                /* of the next launch */
	atomic_uint_fast64_t taken;                 /* launches chosen for --first */
	uint64_t copying;                           /* launches that the copy of the maps in hand is good for */
	uint32_t generation, device;
	const char *backend;
	char name[];
};

/* begun: it is launched, or recorded to be. */
struct gpubpf_kernel_entry *gpubpf_kernel_entry(const char *name, const struct gpubpf_hook_device *device, bool begun);
void gpubpf_kernel_table_begin(struct gpubpf_kernel_entry *entry);
void gpubpf_kernel_table_state(struct gpubpf_kernel_entry *entry, enum gpubpf_kernel_state state, const char *reason);
void gpubpf_kernel_table_add(uint64_t *word, uint64_t n);
/* The device's maps are being copied back, or have been: of how many launches they tell. */
void gpubpf_kernel_table_copying(const struct gpubpf_hook_device *device);
void gpubpf_kernel_table_copied(const struct gpubpf_hook_device *device);

/* hook_device.c */
struct gpubpf_hook_device {
	struct gpubpf_hook_device *next, **link;    /* of all devices */
	const struct gpubpf_hook_ops *ops;          /* of its runtime */
	struct gpubpf_device_open how;
	uint32_t number, ordinal, generation;
	pthread_mutex_t lock;                       /* of what follows */
	enum { DEVICE_NEW, DEVICE_READY, DEVICE_REFUSED } state;
	atomic_int users;                           /* threads that load twins there, or unload them */
	atomic_bool gone;                           /* its context was destroyed */
	struct gpubpf_why why;
	struct gpubpf_device *device;
	struct gpubpf_request *asked;               /* for the arena, not answered yet */
	void *host;                                 /* mapping of the arena, */
	int memory;                                 /* and what is mapped, until the device has it; then -1 */
	size_t size, own, filled;                   /* bytes of it, of the device's own part, and of those that it has */
	uint32_t rows;                              /* of the arena's table, whose maps it has */
	struct gpubpf_elsewhere *elsewhere;         /* of these, those that lie elsewhere (elsewhere.c) */
	uint64_t arena;                             /* what twins get */
	/* allocations.c */
	struct gpubpf_hook_device *next_table;
	atomic_uint_fast64_t allocations;           /* offset in the arena of the process's table; 0: nobody asks for it */
	uint64_t allocations_version;
	uint64_t granules_at, *granules; /* of a device with memory of its own: what it has in its table of them; NULL: nothing is told */
	bool shared;
	bool kept;                                  /* the tool holds its memory, and must be told of the last copy */
	atomic_bool dirty;                          /* twins ran since the last pull */
	atomic_int running;                         /* twins that have not ended */
	atomic_bool unfollowed;                     /* there are twins beside them whose end nobody tells */
	atomic_uint_fast64_t next_pull_ns;
	uint64_t next_clock_ns;                     /* when its clock may be compared with the host's again */
	/* drain.c */
	atomic_bool fresh;                          /* twins were launched since the thread has looked */
	atomic_bool asleep;                         /* it does not look again soon */
	bool draining;
	atomic_bool stop;
	uint64_t drain_threads, drain_bytes;        /* as the environment has them; 0: what is best */
	bool preparing;                             /* prepare.c: there is a thread that does */
	size_t prepared;                            /* bytes of `filled` that it has seen to */
	int64_t settle_ms;                          /* for kernels, or -1: their records are looked through */
	pthread_cond_t drained;                     /* there is something to look at, or one of the threads has ended */
};

/* Open the device and attach its arena, once; later calls repeat the verdict. -EAGAIN: the session has not answered
 * yet, and a later launch may ask again. */
int gpubpf_device_ready(struct gpubpf_hook_device *device, struct gpubpf_why *why);
/* Bring to a device that is ready the maps of objects that have joined the session since. A twin that was asked for
 * after a plan was read needs no more than the arena had then. 0 or -errno with the reason. */
int gpubpf_device_fill(struct gpubpf_hook_device *device, struct gpubpf_why *why);
/*
 * elsewhere.c: maps that do not lie in the device's own memory. By the device's lock, each: have memory for those of the
 * first so many rows, and tell the device where they are; copy to the arena what is not the arena's memory itself, while
 * kernels run or not; give it all back.
 */
int gpubpf_elsewhere_fill(struct gpubpf_hook_device *device, uint32_t rows, struct gpubpf_why *why);
void gpubpf_elsewhere_copy(struct gpubpf_hook_device *device);
void gpubpf_elsewhere_end(struct gpubpf_hook_device *device);
/* shared_arena.c: the arena of that memfd, for all devices on host memory; MAP_FAILED and errno. And these pages of it are
 * those of `fd`, which is taken over, whenever it is mapped; false and errno. */
void *gpubpf_shared_arena(int fd, size_t size);
bool gpubpf_shared_arena_part(int fd, uint64_t offset, uint64_t size);
void gpubpf_shared_arena_after_fork(void);
/*
 * allocations.c: a device is ready, or has maps more: if its arena has tables of allocations, one is for this process's
 * from now on. By the device's lock. And until it goes, or the process does.
 */
void gpubpf_allocations_attach(struct gpubpf_hook_device *device);
void gpubpf_allocations_detach(struct gpubpf_hook_device *device);
void gpubpf_allocations_leave(void);
void gpubpf_allocations_after_fork(void);
/*
 * stacks.c: the number of the stack that this thread is on, from the first function on that is not ours, without the first
 * `skip` frames and cut to `depth`; 0: not known, or not yet. And as the bits that the word with the process has of it.
 */
uint32_t gpubpf_stack_here(uint32_t skip, uint32_t depth);
uint64_t gpubpf_stack_word(uint32_t number);
void gpubpf_stacks_after_fork(void);
/* Bring the mirror of the numbered device up to date, as the tool has `asked` by this number. */
void gpubpf_device_pull(uint32_t number, uint32_t asked);
void gpubpf_device_after_fork(void);
/* The last copies of arenas that are not host memory, when the process ends. Waits 2 s at most for others. */
void gpubpf_device_leave(void);
bool gpubpf_device_copied(void);                    /* there is such an arena */

/* Tell the tool that nothing will be written any more and all was copied, or that we cannot copy and it must do so
 * itself. By the device's lock. */
void gpubpf_device_end_kept(struct gpubpf_hook_device *device, bool copied);

/*
 * drain.c: a thread a device that brings records of rings to the mirror all the time, where the device can copy
 * beside kernels (GPUBPF_CAP_DRAINS). By the device's lock, each.
 */
void gpubpf_drain_start(struct gpubpf_hook_device *device);
void gpubpf_drain_stop(struct gpubpf_hook_device *device);
/*
 * prepare.c: a thread a device that has the memory of its rings' mirrors made and pinned, where the device says that
 * this helps. gpubpf_drain_stop() ends it too.
 */
void gpubpf_prepare_start(struct gpubpf_hook_device *device); /* by the device's lock */
void gpubpf_prepare_wait(struct gpubpf_hook_device *device);  /* until it is done, as long as launches may wait */
/* By nobody's lock: a launch comes after a long silence. */
void gpubpf_drain_wake(struct gpubpf_hook_device *device);
/* How a device's arena is copied, and how long kernels may be waited for, -1: not at all. */
struct gpubpf_mirror gpubpf_device_mirror(struct gpubpf_hook_device *device, int64_t settle_ms);

/* run_aside.c: start a thread that takes none of the application's signals. 0 or -errno. */
int gpubpf_thread_start(void *(*run)(void *arg), void *arg);

/* say_once.c: is the descriptor still that file? The application may close what is not its own, and use the number. */
struct stat;
bool gpubpf_same_file(int fd, const struct stat *known);

/*
 * hold.c: maps of one moment, for who asks the tool. Launches of twins wait a while; what runs is waited for, and then
 * copied. A launch of a twin that is followed counts itself as running by gpubpf_hold_enter().
 */
void gpubpf_hold(uint32_t ms);
void gpubpf_hold_enter(struct gpubpf_hook_device *device);
/* hook_device.c: have all devices' mirrors copied while nothing runs, until the deadline. */
enum gpubpf_held gpubpf_device_pull_held(uint64_t deadline_ns);

/* clock.c */
void gpubpf_clock_start(void);                      /* the first of two readings */
void gpubpf_clock_calibrate(struct gpubpf_hook_device *device);
void gpubpf_clock_again(struct gpubpf_hook_device *device); /* by the device's lock, while it is idle */

/* twin_set.c */
struct gpubpf_twin_set;                             /* the twins of a program on a device */

struct gpubpf_hook_program {
	const struct gpubpf_hook_ops *ops;
	void *adapter;
	atomic_uint owners, refs;                   /* owners: the adapter and its kernels; refs: threads of the agent too */
	uint32_t generation;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct gpubpf_twin_set *sets;
	bool closed;                                /* it has no owner: nothing of it stays loaded */
	char *_Atomic kernels;                      /* names of all, separated by ';'; NULL: not asked for yet */
};

/*
 * A kernel's twin with the programs of some links, or why there is none. Nobody changes it once it may be chosen, nor
 * frees it before the kernel goes: a launch may use it, a graph keep it, and another plan may come back to it.
 */
struct gpubpf_hook_binding {
	struct gpubpf_hook_binding *next;
	const struct gpubpf_twin_set *set;          /* NULL: there was no memory, or were too many */
	void *twin;                                 /* NULL: refused */
	uint32_t twin_flags;
	bool listed;                                /* refused without a reason: it was only to be looked at */
	char reason[240];
	uint32_t nlinks, links[];                   /* whose patterns match this kernel */
};

#define GPUBPF_NO_PLAN UINT64_MAX

struct gpubpf_hook_choice {                         /* what the launches of a kernel on a device run */
	struct gpubpf_hook_choice *next;
	struct gpubpf_hook_kernel *kernel;
	struct gpubpf_hook_device *device;
	struct gpubpf_kernel_entry *entry;
	atomic_uint_fast64_t plan;                  /* generation that `binding` is of; GPUBPF_NO_PLAN: none yet */
	_Atomic(struct gpubpf_hook_binding *) binding; /* NULL: nothing is attached to it */
	struct gpubpf_hook_binding *bindings;       /* all, by the kernel's lock */
	atomic_bool ahead, unused;                  /* not launched yet: settled before; its twin was waited for */
	atomic_bool aside;                          /* a thread of the agent settles it */
	atomic_uint registers;                      /* that a thread of its twin may have; 0: as many as it takes */
	bool wide;                                  /* no twin of fewer could be made; by the kernel's lock */
};

struct gpubpf_hook_kernel {
	struct gpubpf_hook_program *program;
	void *adapter;
	atomic_bool wanted;                         /* by some plan, now or before */
	atomic_bool gone;                           /* the application has released it, and the adapter what it calls by */
	atomic_uint refs;
	uint32_t generation;
	pthread_mutex_t lock;
	_Atomic(struct gpubpf_hook_choice *) choices;
	char name[GPUBPF_NAME_SIZE];                /* as the session knows it, */
	char whole[];                               /* and as the application */
};

/*
 * Settle a choice of another generation than the plan's. Waits for the session as long as the user allows, and makes
 * nothing unless `may_wait`. True: kernels of the plan's want it.
 */
bool gpubpf_twin_settle(struct gpubpf_hook_choice *choice, bool may_wait);
/* Ask for the twins, and wait for none: a program that ends soon has asked for them all the same (gpubpf prepare). */
void gpubpf_twin_ask(struct gpubpf_hook_choice *choice);
/* A program was detached long ago, and what the choice has still has it: let it run the original. */
void gpubpf_twin_drop_detached(struct gpubpf_hook_choice *choice);
/* Launches come that have room for so many registers a thread: settle the choice anew, unless that was known. */
void gpubpf_twin_narrow(struct gpubpf_hook_choice *choice, uint32_t registers);
void gpubpf_twin_sets_destroy(struct gpubpf_hook_program *program);
/* Unload what the program's twins have loaded. */
void gpubpf_twin_sets_close(struct gpubpf_hook_program *program);

/* launch.c: the record of a kernel, without what its adapter keeps */
void gpubpf_hook_kernel_hold(struct gpubpf_hook_kernel *kernel);
void gpubpf_hook_kernel_put(struct gpubpf_hook_kernel *kernel);

/*
 * twin_aside.c: have a thread of the agent settle the choice. Never waits. False: it cannot now; a later launch may ask
 * again.
 */
bool gpubpf_aside_start(struct gpubpf_hook_choice *choice);
/* Is this thread such a one? It takes nothing off --wait, and waits as long as goes_on(), a slice at a time. */
bool gpubpf_aside(void);
bool gpubpf_aside_goes_on(void);
uint64_t gpubpf_aside_slice(void);
/* In other threads these do nothing. False: what it works for is gone, or the process ends; nothing is to be left then.
 * The device's runtime may be called between use and leave; the adapter's kernel and program, by the kernel's lock. */
bool gpubpf_aside_use_device(void);
void gpubpf_aside_leave_device(void);
bool gpubpf_aside_use_kernel(void);
void gpubpf_aside_leave_kernel(void);
/* The process ends: none of them calls the runtime again. */
void gpubpf_aside_end(void);
void gpubpf_aside_after_fork(void);

#endif
