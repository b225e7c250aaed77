/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal interface of the launch path: plans, the application's GPU programs, their kernels and twins. Adapters use
 * hooks/launch/launch.h instead.
 *
 * Adapters call hooks/launch. hooks/launch calls hooks/device, hooks/unwind, hooks/client and hooks/process. The client
 * (hooks/client) calls the launch path only through struct gpubpf_client_handlers.
 *
 * Lock order, outermost first: program, kernel, device, session. The agent holds no lock while application or vendor
 * code runs, with one exception: it holds a kernel's lock while it creates the kernel's twin. Every wait has a time
 * limit. A launch takes no lock. It reads the generation and the binding of a dispatch entry, which stay valid as long
 * as the kernel exists.
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
 * hooks/launch/plan.c: the plan is the list of links. A link is an attached BPF program with the patterns of kernel
 * names that it matches. A launch reads only the plan's generation number, which changes with each attach and detach.
 * These functions take no lock.
 */
struct gpubpf_plan {
	uint64_t generation; /* always even */
	uint32_t n;
	struct gpubpf_plan_entry entry[];
};

/* returns a malloc'd copy; NULL: out of memory, or the tool is writing the plan */
struct gpubpf_plan *gpubpf_plan_read(void);
/*
 * Store in `links` the indices of the links whose patterns match the kernel name. `links` has at least plan->n
 * elements. Returns the number of indices.
 */
uint32_t gpubpf_plan_links(const struct gpubpf_plan *plan, const char *name, uint32_t *links);
/* A set of links of the plan: bit I % 64 of word I / 64 is link I. */
struct gpubpf_link_set {
	_Atomic uint64_t word[GPUBPF_PLAN_LINKS / 64];
};

/* Returns the lowest link of the set that is at least `from`; GPUBPF_PLAN_LINKS: none. */
static inline uint32_t gpubpf_link_set_next(const struct gpubpf_link_set *set, uint32_t from)
{
	while (from < GPUBPF_PLAN_LINKS) {
		uint64_t rest = atomic_load_explicit(&set->word[from / 64], memory_order_relaxed) >> from % 64;

		if (rest)
			return from + (uint32_t)__builtin_ctzll(rest);
		from = (from / 64 + 1) * 64;
	}
	return GPUBPF_PLAN_LINKS;
}

/*
 * Remove the links whose programs only measure times of launches (GPUBPF_PLAN_TIMES). If the pattern of a
 * removed link matches the kernel name, the link is stored in `links`. Returns true if any link matches.
 */
bool gpubpf_plan_remove_times(struct gpubpf_plan *plan, const char *name, struct gpubpf_link_set *links);
/* does any link's pattern match the kernel name? */
bool gpubpf_plan_matches(const struct gpubpf_plan *plan, const char *name);

static inline uint64_t gpubpf_plan_generation(void)
{
	const struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();

	return table ? __atomic_load_n(&table->plan, __ATOMIC_ACQUIRE) : 0;
}

/* hooks/launch/images.c: record that the session has cached the image */
void gpubpf_image_note_cached(uint64_t identity);

/*
 * hooks/launch/hold.c: lets the tool read a consistent snapshot of the maps. The tool's request makes
 * gpubpf_hold_launches() pause launches of twins for up to `ms` milliseconds, wait for running twins and copy the maps.
 * If the runtime reports the end of a twin (gpubpf_hook_launch.followed), its launch calls gpubpf_hold_enter() first.
 * That function waits until the pause is over and counts the twin as running.
 */
void gpubpf_hold_launches(uint32_t ms);
void gpubpf_hold_enter(struct gpubpf_hook_device *device);

/* hooks/launch/twin_module.c */
struct gpubpf_name_list;
struct gpubpf_twin_module; /* twins of one GPU program on one device, for one set of links and one register limit */

struct gpubpf_hook_program {
	const struct gpubpf_hook_ops *ops;
	void *adapter;
	atomic_uint owners, refs; /* owners are the adapter and the kernels; refs counts owners and agent threads */
	uint32_t generation;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct gpubpf_twin_module *modules;
	bool closed;                              /* the last owner has released the program: unload all twin modules */
	struct gpubpf_name_list *_Atomic kernels; /* names of all kernels of the program; NULL: not queried yet */
};

/*
 * A kernel's twin for one set of links, or the reason why the kernel has no twin. A binding is immutable after it has
 * been published to launches, and it lives as long as the kernel. Several users may share a binding: launches, a graph
 * that contains the twin, and a later plan with the same links.
 */
struct gpubpf_hook_binding {
	struct gpubpf_hook_binding *next;
	const struct gpubpf_twin_module *module; /* NULL: out of memory, or too many modules */
	void *twin;                              /* NULL: refused */
	uint32_t twin_flags;
	bool has_no_place; /* there is no twin because no attached BPF program has a place in the kernel */
	char reason[240];
	uint32_t nlinks, links[]; /* indices of the plan's links whose patterns match this kernel */
};

#define GPUBPF_NO_PLAN UINT64_MAX

struct gpubpf_twin_subset; /* hooks/launch/gate.h */

/* selects the code that launches of one kernel on one device run: the original or a twin */
struct gpubpf_dispatch_entry {
	struct gpubpf_dispatch_entry *next;
	struct gpubpf_hook_kernel *kernel;
	struct gpubpf_hook_device *device;
	struct gpubpf_kernel_entry *entry;
	/* plan generation that `binding` belongs to; GPUBPF_NO_PLAN: none yet */
	atomic_uint_fast64_t plan;
	_Atomic(struct gpubpf_hook_binding *) binding; /* NULL: no BPF program is attached to the kernel */
	struct gpubpf_hook_binding *bindings;          /* list of all bindings; protected by the kernel's lock */
	/* twins with a part of the links, for launches that gates admit only in part */
	_Atomic(struct gpubpf_twin_subset *) subsets;
	/* is_prefetched: created by a prefetch and not launched yet. is_unused: counted by gpubpf_entries_unused() */
	atomic_bool is_prefetched, is_unused;
	/* the runtime measures the launches, in place of programs of the plan (GPUBPF_PLAN_TIMES) */
	atomic_bool is_timed;
	struct gpubpf_link_set timed_links; /* these programs */
	atomic_bool is_refreshing;          /* an agent thread is refreshing the binding */
	atomic_uint registers;              /* register limit per GPU thread of the twin; 0: no limit */
	/* no twin can be built with a register limit; protected by the kernel's lock */
	bool limit_unreachable;
};

/* Returns true if launches of this entry run a twin now. */
static inline bool gpubpf_entry_has_twin(const struct gpubpf_dispatch_entry *dispatch)
{
	const struct gpubpf_hook_binding *b = atomic_load_explicit(&dispatch->binding, memory_order_acquire);

	return b && b->twin;
}

struct gpubpf_hook_kernel {
	struct gpubpf_hook_program *program;
	void *adapter;
	atomic_bool is_matched; /* a pattern of the current plan or of an earlier plan matches the kernel */
	atomic_bool gone;       /* the application released the kernel; its adapter handles are invalid */
	atomic_uint refs;
	uint32_t generation;
	pthread_mutex_t lock;
	_Atomic(struct gpubpf_dispatch_entry *) dispatches;
	char name[GPUBPF_NAME_SIZE]; /* kernel name in the form that the session uses, from gpubpf_name_short() */
	char full_name[];
};

/*
 * Refresh the binding of an entry whose generation differs from the plan's. If `may_wait` is true, the function waits
 * for the session within the --wait budget. Otherwise it binds only twins that are already built. Returns true if the
 * plan matches this kernel, or if the plan cannot be read now.
 */
bool gpubpf_twin_refresh_binding(struct gpubpf_dispatch_entry *dispatch, bool may_wait);
/*
 * Send the request for the twins without waiting for the answer. So the session learns of all twins even if the
 * application exits soon (gpubpf prepare).
 */
void gpubpf_twin_request(struct gpubpf_dispatch_entry *dispatch);
/*
 * If the entry's twin still contains a detached BPF program, make launches run the original. Call this function when
 * the next twin was not ready within its time limit.
 */
void gpubpf_twin_drop_detached(struct gpubpf_dispatch_entry *dispatch);
/*
 * Limit the entry's twins to `registers` registers per GPU thread, and invalidate the binding so that a launch gets
 * such a twin. Does nothing if the entry has the same or a lower limit already, or if no twin with a limit can be
 * built.
 */
void gpubpf_twin_limit_registers(struct gpubpf_dispatch_entry *dispatch, uint32_t registers);
void gpubpf_twin_modules_destroy(struct gpubpf_hook_program *program);
void gpubpf_twin_modules_unload(struct gpubpf_hook_program *program);

/*
 * hooks/launch/kernel.c: count references to a kernel's record. While a reference exists, the record is not freed. The
 * application may still destroy the runtime's kernel.
 */
void gpubpf_hook_kernel_hold(struct gpubpf_hook_kernel *kernel);
void gpubpf_hook_kernel_put(struct gpubpf_hook_kernel *kernel);

/*
 * hooks/launch/async_twins.c: start an agent thread that refreshes the entry's binding. Never waits. Returns false if
 * no thread could be started; a later launch may try again.
 */
bool gpubpf_agent_job_start(struct gpubpf_dispatch_entry *dispatch);
/*
 * gpubpf_is_agent_thread() returns true if the calling thread is an agent thread that builds twins. The waits of such a
 * thread do not use the --wait budget. The thread waits in steps. Each step ends at gpubpf_agent_job_slice_end(). The
 * next step starts only if gpubpf_agent_job_may_continue() returns true.
 */
bool gpubpf_is_agent_thread(void);
bool gpubpf_agent_job_may_continue(void);
uint64_t gpubpf_agent_job_slice_end(void);
/*
 * An agent thread may call the device's runtime only between a `use` call and the matching `leave` call. The kernel's
 * functions also take the kernel's lock, which protects the adapter's kernel and program. A `use` function returns
 * false if the kernel or device is gone, or if the process is exiting; then do not call `leave`. In threads other than
 * agent threads these functions do nothing and return true.
 */
bool gpubpf_agent_job_use_device(void);
void gpubpf_agent_job_leave_device(void);
bool gpubpf_agent_job_use_kernel(void);
void gpubpf_agent_job_leave_kernel(void);
void gpubpf_agent_jobs_after_fork(void);
/*
 * Wait at most limit_ns until all of these threads have ended. Returns false if one still runs. Call this function after
 * the kernels were released and before the session's state is: the threads read the plan and the kernel table.
 */
bool gpubpf_agent_jobs_wait(uint64_t limit_ns);

#endif
