/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal interface of the launch path: plans, programs, kernels and their twins. hooks/launch/launch.h holds the part that
 * adapters use.
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
#include "hooks/device/device.h"
#include "hooks/launch/launch.h"
#include "hooks/process/agent_thread.h"
#include "hooks/process/process.h"
#include "hooks/unwind/stacks.h"

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

void gpubpf_image_note_cached(uint64_t identity); /* hooks/launch/images.c: the session has cached this image */

/*
 * hooks/launch/hold.c: a consistent snapshot of the maps for the tool. Launches of twins pause briefly while the agent waits for
 * running twins and copies the maps. A launch of a followed twin counts itself as running with gpubpf_hold_enter().
 */
void gpubpf_hold_launches(uint32_t ms);
void gpubpf_hold_enter(struct gpubpf_hook_device *device);

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
