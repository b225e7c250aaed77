/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds twins in agent threads. When the plan changes, a launch does not wait for the new twin. It runs the entry's
 * present twin, while an agent thread requests the new twin, loads it and binds the entry to it. The thread holds a
 * reference to the kernel's record, not to the adapter's kernel. It calls the adapter only while it holds the kernel's
 * lock, and not after the application has released the kernel. It counts as a user of the device while it calls the
 * runtime.
 */
#include "agent_job.h"
#include "gate.h"

#include <stdlib.h>
#include <time.h>

#include "core/wire/checks.h"

#define MAX_THREADS 32              /* limit of threads at a time; an entry beyond it gets a thread at a later launch */
#define NAP_NS 10000000ull          /* pause_before_retry() checks this often whether the pause must end */
#define WAIT_NAP_NS 1000000ull      /* gpubpf_agent_jobs_wait() checks this often whether the threads have ended */
#define PAUSE_NS 1000000000ull      /* pause between a failed attempt and the next attempt */
#define MAKE_NS 310000000000ull     /* limit for one twin: the tool's limit (GPUBPF_BUILD_TIMEOUT_MS) plus a margin */

static atomic_uint threads;

static bool is_current(const struct gpubpf_dispatch_entry *dispatch)
{
	return atomic_load_explicit(&dispatch->plan, memory_order_acquire) == gpubpf_plan_generation();
}

/* Pause for PAUSE_NS, or until the application releases the kernel or the plan changes. */
static void pause_before_retry(const struct gpubpf_agent_job *a)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	uint64_t until = gpubpf_now_ns() + PAUSE_NS;

	while (!gpubpf_agent_job_is_over(a->dispatch->kernel) && a->generation == gpubpf_plan_generation() &&
	       gpubpf_now_ns() < until)
		nanosleep(&nap, NULL);
}

static void refresh_until_current(struct gpubpf_agent_job *a)
{
	struct gpubpf_dispatch_entry *dispatch = a->dispatch;
	uint64_t limit = gpubpf_session_wait_ms() * 1000000ull;

	limit = limit > MAKE_NS ? limit : MAKE_NS;
	do {
		a->generation = gpubpf_plan_generation();
		a->until_ns = gpubpf_now_ns() + limit;
		gpubpf_twin_refresh_binding(dispatch, true);
		if (!is_current(dispatch) && gpubpf_now_ns() >= a->until_ns)
			gpubpf_twin_drop_detached(dispatch);
		if (!is_current(dispatch))
			pause_before_retry(a);
	} while (!gpubpf_agent_job_is_over(dispatch->kernel) && !is_current(dispatch) &&
		 a->generation != gpubpf_plan_generation());
}

static void *run(void *arg)
{
	struct gpubpf_agent_job a = { .dispatch = arg };

	gpubpf_agent_job_begin(&a);
	refresh_until_current(&a);
	if (is_current(a.dispatch))
		gpubpf_subsets_build(a.dispatch);
	gpubpf_agent_job_end();
	atomic_store(&a.dispatch->is_refreshing, false);
	gpubpf_hook_kernel_put(a.dispatch->kernel);
	gpubpf_ref_was_counted(atomic_fetch_sub(&threads, 1));
	return NULL;
}

static bool start(struct gpubpf_dispatch_entry *dispatch)
{
	if (atomic_fetch_add(&threads, 1) < MAX_THREADS && !gpubpf_devices_are_exiting()) {
		gpubpf_hook_kernel_hold(dispatch->kernel);
		if (!gpubpf_thread_start(run, dispatch))
			return true;
		gpubpf_hook_kernel_put(dispatch->kernel);
	}
	atomic_fetch_sub(&threads, 1);
	return false;
}

bool gpubpf_agent_job_start(struct gpubpf_dispatch_entry *dispatch)
{
	bool works = false;

	if (!atomic_compare_exchange_strong(&dispatch->is_refreshing, &works, true))
		return true;
	if (start(dispatch))
		return true;
	atomic_store(&dispatch->is_refreshing, false);
	return false;
}

bool gpubpf_agent_jobs_wait(uint64_t limit_ns)
{
	const struct timespec nap = { .tv_nsec = WAIT_NAP_NS };
	uint64_t until = gpubpf_now_ns() + limit_ns;

	while (atomic_load(&threads) && gpubpf_now_ns() < until)
		nanosleep(&nap, NULL);
	return !atomic_load(&threads);
}

void gpubpf_agent_jobs_after_fork(void)
{
	atomic_store(&threads, 0);
}
