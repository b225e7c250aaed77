/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal interface of the launch path: plans, programs, kernels and their twins. hooks/launch/launch.h holds the
 * part that adapters use.
 *
 * Calls lead from the adapters to hooks/launch, then hooks/device, hooks/unwind, hooks/client and hooks/process. The
 * client (hooks/client) calls the launch path through struct gpubpf_client_handlers.
 *
 * Lock order, outermost first: program, kernel, device, session. The agent holds no lock while application or vendor
 * code runs, except a kernel's lock while it creates the kernel's twin. Every wait has a limit. A launch takes no
 * lock: it reads the generation and the binding of a dispatch entry, which stay valid as long as the kernel.
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
 * hooks/launch/plan.c: the plan is the list of links, that is, of attached programs with their kernel patterns. A
 * launch reads only the plan's generation, which changes with each attach and detach. None of these functions takes a
 * lock.
 */
struct gpubpf_plan {
	uint64_t generation; /* always even */
	uint32_t n;
	struct gpubpf_plan_entry entry[];
};

struct gpubpf_plan *gpubpf_plan_read(void); /* malloc'd copy. NULL: out of memory, or the tool is writing it */
/* Stores the links whose pattern matches the name in `links`, which has room for all of them. Returns their number. */
uint32_t gpubpf_plan_links(const struct gpubpf_plan *plan, const char *name, uint32_t *links);
bool gpubpf_plan_matches(const struct gpubpf_plan *plan, const char *name); /* does any pattern match the name? */

static inline uint64_t gpubpf_plan_generation(void)
{
	const struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();

	return table ? __atomic_load_n(&table->plan, __ATOMIC_ACQUIRE) : 0;
}

void gpubpf_image_note_cached(uint64_t identity); /* hooks/launch/images.c: the session has cached this image */

/*
 * hooks/launch/hold.c: a consistent snapshot of the maps for the tool. gpubpf_hold_launches() pauses launches of twins
 * for up to `ms` ms, waits for running twins and copies the maps. A launch whose twin reports its end
 * (gpubpf_hook_launch.followed) calls gpubpf_hold_enter() first: it waits out the pause and counts the twin as running.
 */
void gpubpf_hold_launches(uint32_t ms);
void gpubpf_hold_enter(struct gpubpf_hook_device *device);

/* hooks/launch/twin_module.c */
struct gpubpf_twin_module; /* twins of one program on one device, for one set of links and one register limit */

struct gpubpf_hook_program {
	const struct gpubpf_hook_ops *ops;
	void *adapter;
	atomic_uint owners, refs; /* owners are the adapter and its kernels; refs also count agent threads */
	uint32_t generation;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct gpubpf_twin_module *modules;
	bool closed;           /* the last owner is gone: no twin module stays loaded */
	char *_Atomic kernels; /* all kernel names, separated by ';', or NULL before the query */
};

/*
 * A kernel's twin for one set of links, or the reason why there is no twin. It is immutable once a launch can choose
 * it, and it lives as long as the kernel. A launch may use it, a graph may hold it, and a later plan may select it
 * again.
 */
struct gpubpf_hook_binding {
	struct gpubpf_hook_binding *next;
	const struct gpubpf_twin_module *module; /* NULL: out of memory, or too many modules */
	void *twin;                              /* NULL: refused */
	uint32_t twin_flags;
	bool has_no_place; /* no twin: no attached program has a place in the kernel */
	char reason[240];
	uint32_t nlinks, links[]; /* indices of the plan's links whose patterns match this kernel */
};

#define GPUBPF_NO_PLAN UINT64_MAX

/* what launches of one kernel on one device run: the original or a twin */
struct gpubpf_dispatch_entry {
	struct gpubpf_dispatch_entry *next;
	struct gpubpf_hook_kernel *kernel;
	struct gpubpf_hook_device *device;
	struct gpubpf_kernel_entry *entry;
	atomic_uint_fast64_t plan;                     /* plan generation of `binding`; GPUBPF_NO_PLAN: none yet */
	_Atomic(struct gpubpf_hook_binding *) binding; /* NULL: nothing is attached to the kernel */
	struct gpubpf_hook_binding *bindings;          /* all bindings; protected by the kernel's lock */
	atomic_bool is_prefetched, is_unused;          /* not launched since a prefetch; and the prefetch waited */
	atomic_bool is_refreshing;                     /* an agent thread is refreshing the binding */
	atomic_uint registers;                         /* register limit of its twin, per GPU thread; 0: no limit */
	bool limit_unreachable;                        /* no twin within a register limit can be built; kernel's lock */
};

/* Does a launch get a twin now? */
static inline bool gpubpf_entry_has_twin(const struct gpubpf_dispatch_entry *dispatch)
{
	const struct gpubpf_hook_binding *b = atomic_load_explicit(&dispatch->binding, memory_order_acquire);

	return b && b->twin;
}

struct gpubpf_hook_kernel {
	struct gpubpf_hook_program *program;
	void *adapter;
	atomic_bool is_matched; /* the plan, or an earlier plan, has a pattern that matches it */
	atomic_bool gone;       /* the application released it; adapter handles are invalid */
	atomic_uint refs;
	uint32_t generation;
	pthread_mutex_t lock;
	_Atomic(struct gpubpf_dispatch_entry *) dispatches;
	char name[GPUBPF_NAME_SIZE]; /* name as the session knows it; gpubpf_name_short() */
	char full_name[];
};

/*
 * Refresh the binding of an entry whose generation differs from the plan's. With `may_wait` it waits for the session as
 * long as the user allows (--wait); otherwise it only binds twins that are already built. True: the plan matches this
 * kernel, or cannot be read now.
 */
bool gpubpf_twin_refresh_binding(struct gpubpf_dispatch_entry *dispatch, bool may_wait);
/* Send the request for the twins and return. So the session learns of all twins even if the program exits soon (gpubpf
 * prepare). */
void gpubpf_twin_request(struct gpubpf_dispatch_entry *dispatch);
/* Make launches run the original if the entry's twin still contains a detached program. The caller calls it when the
 * next twin was not ready within its time limit. */
void gpubpf_twin_drop_detached(struct gpubpf_dispatch_entry *dispatch);
/* Twins must use at most `registers` registers per GPU thread to fit: invalidate the binding unless its twin already
 * has that limit or a lower one, or no twin could be built within a limit. */
void gpubpf_twin_limit_registers(struct gpubpf_dispatch_entry *dispatch, uint32_t registers);
void gpubpf_twin_modules_destroy(struct gpubpf_hook_program *program);
/* Unload the modules of the program's twins. */
void gpubpf_twin_modules_unload(struct gpubpf_hook_program *program);

/* hooks/launch/kernel.c: count references to a kernel's record. They do not keep the adapter's kernel alive. */
void gpubpf_hook_kernel_hold(struct gpubpf_hook_kernel *kernel);
void gpubpf_hook_kernel_put(struct gpubpf_hook_kernel *kernel);

/*
 * hooks/launch/async_twins.c: start an agent thread that refreshes the binding. Never waits. False: no thread could be
 * started; a later launch may try again.
 */
bool gpubpf_agent_job_start(struct gpubpf_dispatch_entry *dispatch);
/* Is the calling thread an agent thread that builds twins? Its waits do not use the --wait budget. It waits in slices,
 * each until gpubpf_agent_job_slice_end(), while gpubpf_agent_job_may_continue(). */
bool gpubpf_is_agent_thread(void);
bool gpubpf_agent_job_may_continue(void);
uint64_t gpubpf_agent_job_slice_end(void);
/*
 * An agent thread may call the device's runtime only between use and leave. gpubpf_agent_job_use_kernel() also takes
 * the kernel's lock, which protects the adapter's kernel and program. False: the kernel or device is gone, or the
 * process is exiting; then do not call leave. In other threads these functions do nothing and return true.
 */
bool gpubpf_agent_job_use_device(void);
void gpubpf_agent_job_leave_device(void);
bool gpubpf_agent_job_use_kernel(void);
void gpubpf_agent_job_leave_kernel(void);
void gpubpf_agent_jobs_after_fork(void);

#endif
