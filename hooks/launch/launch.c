/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch path. A launch looks up the dispatch entry of its kernel and device, counts itself, and chooses the
 * original or a twin. If no BPF program is attached, the cost is a short list walk and a few relaxed stores.
 */
#include "count.h"
#include "gate.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/wire/checks.h"

#define MAX_UNUSED 16 /* number of unused entries (gpubpf_entries_unused()) at which prefetching stops */
#define MIN_WAIT_NS 5000000 /* in ns; an entry counts as unused only if its prefetch waited longer */

static struct gpubpf_dispatch_entry *find_entry(struct gpubpf_hook_kernel *kernel, const struct gpubpf_hook_device *device)
{
	struct gpubpf_dispatch_entry *dispatch;

	dispatch = atomic_load_explicit(&kernel->dispatches, memory_order_acquire);
	while (dispatch && dispatch->device != device)
		dispatch = dispatch->next;
	return dispatch;
}

/*
 * Find or create the entry of the kernel and device. ahead: the entry is for a prefetch. Then the kernel has not been
 * launched yet, so reports do not list it.
 */
static struct gpubpf_dispatch_entry *add_entry(struct gpubpf_hook_kernel *kernel, struct gpubpf_hook_device *device,
					       bool ahead)
{
	struct gpubpf_dispatch_entry *dispatch;

	pthread_mutex_lock(&kernel->lock);
	dispatch = find_entry(kernel, device);
	if (!dispatch && (dispatch = calloc(1, sizeof(*dispatch)))) {
		dispatch->kernel = kernel;
		dispatch->device = device;
		dispatch->plan = GPUBPF_NO_PLAN;
		dispatch->is_prefetched = ahead;
		dispatch->entry = gpubpf_kernel_entry(kernel->name, device->ops->backend, device->ordinal, !ahead);
		dispatch->next = kernel->dispatches;
		if (dispatch->entry) {
			atomic_store_explicit(&kernel->dispatches, dispatch, memory_order_release);
		} else {
			free(dispatch);
			dispatch = NULL;
		}
	}
	pthread_mutex_unlock(&kernel->lock);
	return dispatch;
}

/* Lets `first` count anew if the tool has changed it. One thread resets the counter. */
static void begin_round(struct gpubpf_kernel_entry *entry)
{
	uint64_t round = gpubpf_session_round(), seen = atomic_load_explicit(&entry->round, memory_order_relaxed);

	if (seen != round && atomic_compare_exchange_strong(&entry->round, &seen, round))
		atomic_store(&entry->admitted, 0);
}

/*
 * Returns true if `every` admits the launch: the previous probed launch of the kernel is long enough ago. Only one of
 * several threads gets the launch that is due.
 */
static bool is_due(struct gpubpf_kernel_entry *entry)
{
	uint64_t every = gpubpf_session_every_ns(), now, from;

	if (!every)
		return true;
	from = atomic_load(&entry->every_from_ns); /* before the clock, so that `now` is not earlier */
	now = gpubpf_now_ns();
	return (!from || now - from >= every) && atomic_compare_exchange_strong(&entry->every_from_ns, &from, now);
}

/* Returns true if --first N admits the launch: only the first N launches that can be probed are probed. */
static bool is_within_first(struct gpubpf_kernel_entry *entry)
{
	uint64_t first = gpubpf_session_first();

	if (!first)
		return true;
	begin_round(entry);
	if (atomic_load_explicit(&entry->admitted, memory_order_relaxed) >= first)
		return false;
	return atomic_fetch_add_explicit(&entry->admitted, 1, memory_order_relaxed) < first;
}

/* Returns true if the entry's binding belongs to the current plan. */
static bool is_current(const struct gpubpf_dispatch_entry *dispatch)
{
	return atomic_load_explicit(&dispatch->plan, memory_order_acquire) == gpubpf_plan_generation();
}

/*
 * Refresh the binding. The time counts as waiting time in the kernel table, not as cost of the agent. If launches of
 * other threads changed the register limit meanwhile, the refresh is repeated. Returns true if the entry has the
 * current plan.
 */
static bool refresh_timed(struct gpubpf_dispatch_entry *dispatch, uint64_t *waited)
{
	uint64_t from = gpubpf_now_ns();
	bool wanted, current;
	uint32_t registers;

	do {
		registers = atomic_load(&dispatch->registers);
		wanted = gpubpf_twin_refresh_binding(dispatch, true);
		current = is_current(dispatch);
	} while (!current && atomic_load(&dispatch->registers) != registers);
	*waited = wanted ? gpubpf_now_ns() - from : 0;
	gpubpf_kernel_table_add(&dispatch->entry->shared->wait_ns, *waited);
	return current;
}

uint64_t gpubpf_launch_pid_tgid(void)
{
	static _Thread_local uint64_t known;
	static _Thread_local uint32_t generation;

	if (!known || generation != gpubpf_session_generation()) {
		generation = gpubpf_session_generation();
		known = (uint64_t)getpid() << 32 | (uint32_t)gettid();
	}
	return known;
}

/* Refresh the binding in a runtime callback, which must not wait. Returns false if the twin is not built yet. */
static bool refresh_in_callback(struct gpubpf_hook_launch *l)
{
	if (!gpubpf_twin_refresh_binding(l->dispatch, false) || is_current(l->dispatch) ||
	    gpubpf_entry_has_twin(l->dispatch))
		return true;
	l->miss = GPUBPF_MISS_CALLBACK;
	gpubpf_log_once("kernel %s: launched in an event callback, so it runs unprobed; a launch outside callbacks "
			"must build its twin first, because callbacks must not wait",
			l->kernel->name);
	return false;
}

/* Let an agent thread refresh the binding. */
static void refresh_async(struct gpubpf_dispatch_entry *dispatch)
{
	if (atomic_load_explicit(&dispatch->plan, memory_order_relaxed) == GPUBPF_NO_PLAN &&
	    !atomic_load(&dispatch->is_refreshing))
		gpubpf_twin_request(dispatch);
	gpubpf_agent_job_start(dispatch);
}

/*
 * The launch may not wait for the current plan's twin, so let an agent thread build that twin. Meanwhile launches run
 * the entry's present twin. Returns false if the entry has no twin.
 */
static bool use_present_twin(struct gpubpf_hook_launch *l)
{
	bool wanted = atomic_load_explicit(&l->dispatch->is_refreshing, memory_order_relaxed) ||
		      gpubpf_twin_refresh_binding(l->dispatch, false);

	if (!wanted || is_current(l->dispatch))
		return true;
	refresh_async(l->dispatch);
	return gpubpf_entry_has_twin(l->dispatch);
}

/* A launch may wait for the first twin of its kernel, but not for twins of later plans. */
static bool may_wait(const struct gpubpf_dispatch_entry *dispatch)
{
	return atomic_load_explicit(&dispatch->plan, memory_order_relaxed) == GPUBPF_NO_PLAN &&
	       gpubpf_wait_budget_is_left();
}

/* Refresh the binding. Returns false if the launch has no twin; then l->miss has the reason. */
static bool refresh_binding(struct gpubpf_hook_launch *l)
{
	bool refreshed;

	if (gpubpf_hook_callbacks)
		return refresh_in_callback(l);
	refreshed = may_wait(l->dispatch) ? refresh_timed(l->dispatch, &l->waited_ns) : use_present_twin(l);
	if (!refreshed)
		l->miss = GPUBPF_MISS_LATE;
	return refreshed;
}

static uint64_t launch_stack(uint32_t twin_flags)
{
	uint32_t depth = twin_flags >> GPUBPF_TWIN_STACK_DEPTH & 0x7f;

	return gpubpf_stack_word(gpubpf_stack_current_number(twin_flags >> GPUBPF_TWIN_STACK_SKIP & 0xff, depth));
}

static void set_twin(struct gpubpf_hook_launch *l, const struct gpubpf_hook_binding *binding)
{
	l->binding = binding;
	l->twin = binding->twin;
	l->twin_flags = binding->twin_flags;
	l->arena = l->device->arena;
	if (binding->twin_flags & GPUBPF_TWIN_ARG_PID)
		l->pid_tgid = gpubpf_launch_pid_tgid();
	if (binding->twin_flags & GPUBPF_TWIN_STACK)
		l->pid_tgid |= launch_stack(binding->twin_flags);
	l->followed = !l->device->shared;
	if (l->followed)
		gpubpf_hold_enter(l->device);
}

/* Returns why the binding has no twin. */
static enum gpubpf_miss missing_twin(const struct gpubpf_hook_binding *binding)
{
	return binding->has_no_place ? GPUBPF_MISS_NO_PLACE : GPUBPF_MISS_REFUSED;
}

/* The launch was admitted: let the runtime measure it if is_timed is set, and use the binding's twin if there is one. */
static void use_binding(struct gpubpf_hook_launch *l, const struct gpubpf_hook_binding *binding, bool is_timed)
{
	l->is_timed = is_timed;
	l->miss = GPUBPF_MISSES;
	if (binding && !binding->twin)
		l->miss = missing_twin(binding);
	else if (binding)
		set_twin(l, binding);
}

/* Use the part of the binding, and of the measured programs, that the gates of their links admit. */
static void use_admitted(struct gpubpf_hook_launch *l, const struct gpubpf_hook_binding *binding, bool is_timed)
{
	const struct gpubpf_hook_binding *admitted;

	is_timed = is_timed && gpubpf_gate_admits_timed(l);
	admitted = binding && binding->twin ? gpubpf_gate_choose(l, binding) : binding;
	if (admitted || is_timed)
		use_binding(l, admitted, is_timed);
}

/* Use the twin of the current plan, or record why the launch has no twin. */
static void select_twin(struct gpubpf_hook_launch *l)
{
	const struct gpubpf_hook_binding *binding = atomic_load_explicit(&l->dispatch->binding, memory_order_acquire);
	bool is_timed = atomic_load_explicit(&l->dispatch->is_timed, memory_order_relaxed);

	if (!binding && !is_timed)
		l->miss = GPUBPF_MISS_UNATTACHED;
	else if (binding && !binding->twin && !is_timed)
		l->miss = missing_twin(binding);
	else if (!is_due(l->dispatch->entry))
		l->miss = GPUBPF_MISS_SAMPLED;
	else if (!is_within_first(l->dispatch->entry))
		l->miss = GPUBPF_MISS_FIRST;
	else
		use_admitted(l, binding, is_timed);
}

/* Choose the original, with the reason in l->miss, or a twin. l->waited_ns is the time that the launch waited. */
static void choose_kernel(struct gpubpf_hook_launch *l)
{
	if (!gpubpf_session_enabled())
		l->miss = GPUBPF_MISS_STOPPED;
	else if (l->number % gpubpf_session_sample())
		l->miss = GPUBPF_MISS_SAMPLED;
	else if (is_current(l->dispatch) || refresh_binding(l))
		select_twin(l);
}

/* Record the first launch of a prefetched kernel. */
static void note_first_launch(struct gpubpf_dispatch_entry *dispatch)
{
	gpubpf_entry_note_used(dispatch);
	gpubpf_kernel_table_note_launched(dispatch->entry);
	atomic_store_explicit(&dispatch->is_prefetched, false, memory_order_relaxed);
}

/* Run the programs of sections host/launch. The launch has its number already. */
static void begin_host(struct gpubpf_hook_launch *l)
{
	if (l->is_node || !gpubpf_host_is_on(GPUBPF_HOST_LAUNCH))
		return;
	l->host = (struct gpubpf_host_call){
		.event = GPUBPF_HOST_LAUNCH, .function = l->function, .stream = l->stream, .launch = l
	};
	l->is_host_on = gpubpf_host_begin(&l->host);
}

void gpubpf_hook_launch_begin(struct gpubpf_hook_launch *l)
{
	struct gpubpf_hook_kernel *k = l->kernel;
	uint64_t from = 0;

	l->twin = NULL;
	l->followed = false;
	l->is_timed = false;
	l->spent_ns = 0;
	l->waited_ns = 0;
	l->miss = GPUBPF_MISS_UNATTACHED;
	l->dispatch = NULL;
	l->binding = NULL;
	l->inherited = NULL;
	l->is_host_on = false;
	if (gpubpf_launch_is_inherited(l)) {
		gpubpf_session_rejoin();
		l->inherited = gpubpf_kernel_entry(k->name, l->device->ops->backend, l->device->ordinal, true);
		return;
	}
	l->dispatch = find_entry(k, l->device);
	if (!l->dispatch && !(l->dispatch = add_entry(k, l->device, false)))
		return;
	if (atomic_load_explicit(&l->dispatch->is_prefetched, memory_order_relaxed))
		note_first_launch(l->dispatch);
	l->number = atomic_fetch_add_explicit(&l->dispatch->entry->number, 1, memory_order_relaxed);
	if (gpubpf_launch_is_timed(l))
		from = gpubpf_now_ns();
	if (atomic_load_explicit(&l->dispatch->binding, memory_order_relaxed) ||
	    atomic_load_explicit(&l->dispatch->is_timed, memory_order_relaxed) || !is_current(l->dispatch))
		choose_kernel(l);
	if (from)
		l->spent_ns = gpubpf_now_ns() - from - l->waited_ns;
	begin_host(l);
}

/*
 * Does nothing if MAX_UNUSED prefetched twins have not been launched yet: an application may look up hundreds of
 * kernels and launch few of them.
 */
void gpubpf_hook_kernel_prefetch(struct gpubpf_hook_kernel *kernel, struct gpubpf_hook_device *device)
{
	struct gpubpf_dispatch_entry *dispatch;
	uint64_t waited = 0;

	if (!gpubpf_session_enabled() || gpubpf_hook_callbacks || gpubpf_generation_is_inherited(kernel->generation) ||
	    gpubpf_generation_is_inherited(device->generation) || gpubpf_entries_unused() >= MAX_UNUSED ||
	    !gpubpf_plan_matches_now(kernel->full_name))
		return;
	dispatch = find_entry(kernel, device);
	if (!dispatch && !(dispatch = add_entry(kernel, device, true)))
		return;
	if (!is_current(dispatch) && may_wait(dispatch))
		refresh_timed(dispatch, &waited);
	if (waited > MIN_WAIT_NS)
		gpubpf_entry_note_unused(dispatch);
	if (!is_current(dispatch))
		refresh_async(dispatch);
}

static void end_inherited(const struct gpubpf_hook_launch *l)
{
	enum gpubpf_miss miss = gpubpf_miss_reason(l->kernel->full_name);

	if (miss == GPUBPF_MISS_UNSUPPORTED)
		gpubpf_log_once("process %d launches kernels that its parent made before the fork; they run unprobed; "
				"load them again in a context that the child creates",
				getpid());
	gpubpf_count_unprobed(l->inherited, l, miss, GPUBPF_KERNEL_REFUSED,
			      "made before the fork of the process that launches it");
}

void gpubpf_hook_launch_refuse(struct gpubpf_hook_launch *l, enum gpubpf_miss why)
{
	if (l->followed)
		gpubpf_ref_was_counted(atomic_fetch_sub(&l->device->running, 1));
	l->followed = false;
	l->twin = NULL;
	l->miss = why;
}

static void count_probed(struct gpubpf_kernel_row *k)
{
	gpubpf_kernel_table_add(&k->probed, 1);
	gpubpf_kernel_table_add(&k->launches, 1);
}

void gpubpf_launch_end_host(struct gpubpf_hook_launch *l, enum gpubpf_hook_outcome outcome)
{
	if (l->is_host_on)
		gpubpf_host_end(&l->host, l->result ? l->result : -(outcome == GPUBPF_LAUNCH_FAILED));
	l->is_host_on = false;
}

void gpubpf_hook_launch_end(struct gpubpf_hook_launch *l, enum gpubpf_hook_outcome outcome)
{
	struct gpubpf_kernel_row *k;

	gpubpf_launch_end_host(l, outcome);
	if (l->followed && outcome != GPUBPF_LAUNCHED)
		/* the twin was counted as running, but never started */
		gpubpf_ref_was_counted(atomic_fetch_sub(&l->device->running, 1));
	if (outcome == GPUBPF_LAUNCH_FAILED)
		return;
	if (l->inherited)
		end_inherited(l);
	if (!l->dispatch)
		return;
	k = l->dispatch->entry->shared;
	if (l->is_timed)
		gpubpf_count_timed(l->dispatch);
	if (!l->twin && l->miss == GPUBPF_MISSES) {
		count_probed(k);
	} else if (l->twin && outcome == GPUBPF_LAUNCHED) {
		count_probed(k);
		gpubpf_count_links(l->binding->links, l->binding->nlinks);
		if (l->followed)
			gpubpf_note_written(l->device);
	} else {
		gpubpf_count_missed(k, l->twin ? GPUBPF_MISS_UNFIT : l->miss);
	}
	gpubpf_count_shape(k, l);
	gpubpf_count_time(l);
}

void gpubpf_hook_twin_refused(const struct gpubpf_hook_launch *l, int error)
{
	if (error == GPUBPF_TWIN_NO_ROOM)
		gpubpf_log_once("kernel %s: its twin needs more registers or shared memory than are available for a "
				"launch of this size; the launch ran unprobed",
				l->kernel->name);
	else if (error != GPUBPF_TWIN_REPORTED)
		gpubpf_log_once("kernel %s: the runtime refused a launch of its twin with error %d; the launch ran "
				"unprobed",
				l->kernel->name, error);
}

/*
 * The launch's twin uses too many registers to fit. Replace it by a twin that is limited to l->registers registers.
 * Returns false if no such twin is ready, or if gates exclude some links from the launch.
 */
static bool take_narrower_twin(struct gpubpf_hook_launch *l)
{
	const struct gpubpf_hook_binding *binding;
	uint64_t waited;

	if (!l->registers || gpubpf_hook_callbacks)
		return false;
	if (l->followed)
		/* the first twin was counted as running, but never started */
		gpubpf_ref_was_counted(atomic_fetch_sub(&l->device->running, 1));
	l->followed = false;
	gpubpf_twin_limit_registers(l->dispatch, l->registers);
	if (!is_current(l->dispatch) && !gpubpf_wait_budget_is_left())
		gpubpf_agent_job_start(l->dispatch);
	else if (!is_current(l->dispatch))
		refresh_timed(l->dispatch, &waited);
	if (!is_current(l->dispatch))
		return false;
	binding = atomic_load_explicit(&l->dispatch->binding, memory_order_acquire);
	if (!binding || !binding->twin || binding == l->binding || binding->nlinks != l->binding->nlinks)
		return false;
	set_twin(l, binding);
	gpubpf_log_once("kernel %s: its twin was rebuilt with %u registers per thread, so that all blocks of the "
			"launch still fit on the device at once",
			l->kernel->name, l->registers);
	return true;
}

int gpubpf_hook_launch_run(struct gpubpf_hook_launch *l, int (*twin)(const void *call, struct gpubpf_hook_launch *launch),
			   int (*original)(const void *call), const void *call)
{
	int error, refused = 0;

	l->registers = 0;
	gpubpf_hook_launch_begin(l);
	if (l->twin)
		refused = twin(call, l);
	if (l->twin && refused == GPUBPF_TWIN_NO_ROOM && take_narrower_twin(l))
		refused = twin(call, l);
	if (l->twin && !refused) {
		gpubpf_hook_launch_end(l, GPUBPF_LAUNCHED);
		if (l->followed && !l->device->ops->device->settle)
			gpubpf_hook_untracked_launch(l->device);
		if (l->followed)
			gpubpf_hook_completed(l->device);
		return 0;
	}
	error = original(call);
	l->result = error;
	gpubpf_hook_launch_end(l, error ? GPUBPF_LAUNCH_FAILED : l->twin ? GPUBPF_LAUNCHED_ORIGINAL : GPUBPF_LAUNCHED);
	if (l->twin && !error)
		gpubpf_hook_twin_refused(l, refused);
	return error;
}
