/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch path. A launch looks up its dispatch entry (kernel and device), counts itself, and chooses a kernel. With
 * nothing attached that costs a short list walk and a few relaxed stores.
 */
#include "hooks/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/checks.h"

#define MAX_UNUSED 16 /* kernels whose twins a caller waited for and that were not launched since */
#define MIN_WAIT_NS 5000000 /* shorter waits do not count */
#define TIMED_INTERVAL 64 /* one launch in this many is timed for the report's cost, and each of the first ones */

static const struct gpubpf_client_handlers handlers = {
	.share = gpubpf_shared_arena_part,
	.pull = gpubpf_device_pull,
	.hold = gpubpf_hold_launches,
	.has_copied_arena = gpubpf_device_any_copied_arena,
	.copy_all_at_exit = gpubpf_device_copy_all_at_exit,
	.before_fork = gpubpf_kernel_table_lock,
	.after_fork = gpubpf_kernel_table_unlock,
	.reset_child = gpubpf_device_after_fork,
};

int gpubpf_hook_init(const struct gpubpf_hook_ops *ops)
{
	const char *backend = gpubpf_env_backend();

	gpubpf_hook_check(ops);
	if (!gpubpf_env_session())
		return -ENOENT;
	if (backend && strcmp(backend, ops->backend))
		return -EBUSY;
	gpubpf_clock_read_baseline();
	return gpubpf_session_join(ops->backend, &handlers);
}

bool gpubpf_hook_active(void)
{
	return gpubpf_session_up();
}

bool gpubpf_hook_joined(void)
{
	return gpubpf_session_joined() && !gpubpf_session_sealed();
}

int gpubpf_hook_program_create(const struct gpubpf_hook_ops *ops, void *adapter_program,
			       struct gpubpf_hook_program **program)
{
	struct gpubpf_hook_program *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->ops = ops;
	p->adapter = adapter_program;
	p->refs = p->owners = 1;
	p->generation = gpubpf_session_generation();
	pthread_mutex_init(&p->lock, NULL);
	gpubpf_cond_init(&p->cond);
	*program = p;
	return 0;
}

/* The child of a fork lacks its parent's threads, which may have held locks. */
static bool is_inherited(uint32_t generation)
{
	return generation != gpubpf_session_generation();
}

static void put_program(struct gpubpf_hook_program *program)
{
	if (!gpubpf_ref_was_last(atomic_fetch_sub(&program->refs, 1)))
		return;
	gpubpf_twin_modules_destroy(program);
	free(program->kernels);
	pthread_mutex_destroy(&program->lock);
	pthread_cond_destroy(&program->cond);
	free(program);
}

void gpubpf_hook_program_destroy(struct gpubpf_hook_program *program)
{
	if (!program)
		return;
	if (gpubpf_ref_was_last(atomic_fetch_sub(&program->owners, 1)) && !is_inherited(program->generation))
		gpubpf_twin_modules_unload(program);
	put_program(program);
}

int gpubpf_hook_kernel_create(struct gpubpf_hook_program *program, void *adapter_kernel, const char *name,
			      struct gpubpf_hook_kernel **kernel)
{
	struct gpubpf_hook_kernel *k = calloc(1, sizeof(*k) + strlen(name) + 1);

	if (!k)
		return -ENOMEM;
	gpubpf_name_short(name, strlen(name), k->name);
	strcpy(k->whole, name);
	k->program = program;
	k->adapter = adapter_kernel;
	k->generation = gpubpf_session_generation();
	k->refs = 1;
	pthread_mutex_init(&k->lock, NULL);
	atomic_fetch_add(&program->owners, 1);
	atomic_fetch_add(&program->refs, 1);
	*kernel = k;
	return 0;
}

bool gpubpf_hook_kernel_is_matched(const struct gpubpf_hook_kernel *kernel)
{
	return atomic_load_explicit(&kernel->wanted, memory_order_relaxed);
}

const char *gpubpf_hook_kernel_name(const struct gpubpf_hook_kernel *kernel)
{
	return kernel->whole;
}

static void free_bindings(const struct gpubpf_hook_ops *ops, struct gpubpf_hook_binding *b)
{
	while (b) {
		struct gpubpf_hook_binding *next = b->next;

		if (b->twin)
			ops->twin_kernel_put(b->twin);
		free(b);
		b = next;
	}
}

void gpubpf_hook_kernel_hold(struct gpubpf_hook_kernel *kernel)
{
	atomic_fetch_add(&kernel->refs, 1);
	atomic_fetch_add(&kernel->program->refs, 1);
}

static void free_kernel(struct gpubpf_hook_kernel *kernel)
{
	struct gpubpf_dispatch_entry *choice, *next;

	for (choice = kernel->choices; choice; choice = next) {
		next = choice->next;
		free(choice);
	}
	pthread_mutex_destroy(&kernel->lock);
	free(kernel);
}

void gpubpf_hook_kernel_put(struct gpubpf_hook_kernel *kernel)
{
	struct gpubpf_hook_program *program = kernel->program;

	if (gpubpf_ref_was_last(atomic_fetch_sub(&kernel->refs, 1)))
		free_kernel(kernel);
	put_program(program);
}

static atomic_int unused;

static void note_used(struct gpubpf_dispatch_entry *choice)
{
	if (atomic_exchange(&choice->unused, false))
		atomic_fetch_sub(&unused, 1);
}

/* Release the kernel's adapter state. */
static void release_bindings(struct gpubpf_hook_kernel *kernel)
{
	atomic_store(&kernel->gone, true);
	for (struct gpubpf_dispatch_entry *choice = kernel->choices; choice; choice = choice->next) {
		note_used(choice);
		free_bindings(kernel->program->ops, choice->bindings);
		choice->bindings = NULL;
		choice->binding = NULL;
	}
}

void gpubpf_hook_kernel_destroy(struct gpubpf_hook_kernel *kernel)
{
	struct gpubpf_hook_program *program = kernel ? kernel->program : NULL;

	if (!kernel)
		return;
	if (is_inherited(kernel->generation)) {
		release_bindings(kernel);
	} else {
		pthread_mutex_lock(&kernel->lock);
		release_bindings(kernel);
		pthread_mutex_unlock(&kernel->lock);
	}
	if (gpubpf_ref_was_last(atomic_fetch_sub(&kernel->refs, 1)))
		free_kernel(kernel);
	gpubpf_hook_program_destroy(program);
}

static struct gpubpf_dispatch_entry *find_entry(struct gpubpf_hook_kernel *kernel,
					     const struct gpubpf_hook_device *device)
{
	struct gpubpf_dispatch_entry *choice;

	choice = atomic_load_explicit(&kernel->choices, memory_order_acquire);
	while (choice && choice->device != device)
		choice = choice->next;
	return choice;
}

/* ahead: the kernel was not launched yet, and reports do not list it. */
static struct gpubpf_dispatch_entry *add_entry(struct gpubpf_hook_kernel *kernel, struct gpubpf_hook_device *device,
					    bool ahead)
{
	struct gpubpf_dispatch_entry *choice;

	pthread_mutex_lock(&kernel->lock);
	choice = find_entry(kernel, device);
	if (!choice && (choice = calloc(1, sizeof(*choice)))) {
		choice->kernel = kernel;
		choice->device = device;
		choice->plan = GPUBPF_NO_PLAN;
		choice->ahead = ahead;
		choice->entry = gpubpf_kernel_entry(kernel->name, device, !ahead);
		choice->next = kernel->choices;
		if (choice->entry) {
			atomic_store_explicit(&kernel->choices, choice, memory_order_release);
		} else {
			free(choice);
			choice = NULL;
		}
	}
	pthread_mutex_unlock(&kernel->lock);
	return choice;
}

/* --first N: probe only the first N probeable launches. */
static bool is_within_first(struct gpubpf_kernel_entry *entry)
{
	uint64_t first = gpubpf_session_first();

	if (!first)
		return true;
	if (atomic_load_explicit(&entry->taken, memory_order_relaxed) >= first)
		return false;
	return atomic_fetch_add_explicit(&entry->taken, 1, memory_order_relaxed) < first;
}

/* Does the entry match the current plan? */
static bool is_current(const struct gpubpf_dispatch_entry *choice)
{
	return atomic_load_explicit(&choice->plan, memory_order_acquire) == gpubpf_plan_generation();
}

/* Refresh the binding and account the wait for the twin as waiting time, not as cost of the hook. Repeats if
 * launches of other threads changed the register limit meanwhile. True: the entry matches the plan. */
static bool refresh_timed(struct gpubpf_dispatch_entry *choice, uint64_t *waited)
{
	uint64_t from = gpubpf_now_ns();
	bool wanted, current;
	uint32_t registers;

	do {
		registers = atomic_load(&choice->registers);
		wanted = gpubpf_twin_refresh_binding(choice, true);
		current = is_current(choice);
	} while (!current && atomic_load(&choice->registers) != registers);
	*waited = wanted ? gpubpf_now_ns() - from : 0;
	gpubpf_kernel_table_add(&choice->entry->shared->wait_ns, *waited);
	return current;
}

static bool is_timed(const struct gpubpf_hook_launch *l)
{
	return l->number < TIMED_INTERVAL || l->number % TIMED_INTERVAL == 1;
}

/* Two system calls the first time in each thread, and again in the child of a fork. */
static uint64_t pid_tgid(void)
{
	static _Thread_local uint64_t known;
	static _Thread_local uint32_t generation;

	if (!known || generation != gpubpf_session_generation()) {
		generation = gpubpf_session_generation();
		known = (uint64_t)getpid() << 32 | (uint32_t)gettid();
	}
	return known;
}

static bool has_twin(const struct gpubpf_dispatch_entry *choice)
{
	const struct gpubpf_hook_binding *b = atomic_load_explicit(&choice->binding, memory_order_acquire);

	return b && b->twin;
}

/* In a runtime callback, where waiting is forbidden. False: there is no twin. */
static bool refresh_in_callback(struct gpubpf_hook_launch *l)
{
	if (!gpubpf_twin_refresh_binding(l->choice, false) || is_current(l->choice) || has_twin(l->choice))
		return true;
	l->miss = GPUBPF_MISS_CALLBACK;
	gpubpf_log_once("kernel %s: launched in an event callback, which must not wait for its twin; it runs "
			 "unprobed there until a launch outside a callback has built the twin", l->kernel->name);
	return false;
}

/* Hand the refresh to an agent thread. */
static void refresh_async(struct gpubpf_dispatch_entry *choice)
{
	if (atomic_load_explicit(&choice->plan, memory_order_relaxed) == GPUBPF_NO_PLAN && !atomic_load(&choice->aside))
		gpubpf_twin_request(choice);
	gpubpf_agent_job_start(choice);
}

/* The plan has changed, or the launch may not wait: it runs the entry's present twin while an agent thread builds
 * the next one. False: there is no twin. */
static bool use_present_twin(struct gpubpf_hook_launch *l)
{
	bool wanted = atomic_load_explicit(&l->choice->aside, memory_order_relaxed) || gpubpf_twin_refresh_binding(l->choice, false);

	if (!wanted || is_current(l->choice))
		return true;
	refresh_async(l->choice);
	return has_twin(l->choice);
}

/* A launch may wait for the first twin of its kernel, but not for twins of later plans. */
static bool may_wait(const struct gpubpf_dispatch_entry *choice)
{
	return atomic_load_explicit(&choice->plan, memory_order_relaxed) == GPUBPF_NO_PLAN && gpubpf_wait_budget_is_left();
}

/* False: the launch has no twin; l->miss has the reason. */
static bool refresh_binding(struct gpubpf_hook_launch *l, uint64_t *waited)
{
	bool refreshed;

	if (gpubpf_hook_callbacks)
		return refresh_in_callback(l);
	refreshed = may_wait(l->choice) ? refresh_timed(l->choice, waited) : use_present_twin(l);
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
		l->pid_tgid = pid_tgid();
	if (binding->twin_flags & GPUBPF_TWIN_STACK)
		l->pid_tgid |= launch_stack(binding->twin_flags);
	l->followed = !l->device->shared;
	if (l->followed)
		gpubpf_hold_enter(l->device);
}

/* Use the twin of the current plan, or record why the launch has no twin. */
static void select_twin(struct gpubpf_hook_launch *l)
{
	const struct gpubpf_hook_binding *binding = atomic_load_explicit(&l->choice->binding, memory_order_acquire);

	if (!binding)
		l->miss = GPUBPF_MISS_UNATTACHED;
	else if (!binding->twin)
		l->miss = binding->listed ? GPUBPF_MISS_NO_PLACE : GPUBPF_MISS_REFUSED;
	else if (!is_within_first(l->choice->entry))
		l->miss = GPUBPF_MISS_FIRST;
	else
		set_twin(l, binding);
}

/* Returns the time that it waited, in ns. */
static uint64_t choose_kernel(struct gpubpf_hook_launch *l)
{
	struct gpubpf_dispatch_entry *choice = l->choice;
	uint64_t waited = 0;

	if (!gpubpf_session_enabled()) {
		l->miss = GPUBPF_MISS_STOPPED;
		return 0;
	}
	if (l->number % gpubpf_session_sample()) {
		l->miss = GPUBPF_MISS_SAMPLED;
		return 0;
	}
	if (is_current(choice) || refresh_binding(l, &waited))
		select_twin(l);
	return waited;
}

/* Kernel or device was created before this process was forked. Their state belongs to the parent, so the original
 * runs. */
static bool is_inherited_launch(const struct gpubpf_hook_launch *l)
{
	uint32_t generation = gpubpf_session_generation();

	return l->kernel->generation != generation || l->device->generation != generation;
}

/* The first launch of a kernel whose twin was built ahead. */
static void note_first_launch(struct gpubpf_dispatch_entry *choice)
{
	note_used(choice);
	gpubpf_kernel_table_note_launched(choice->entry);
	atomic_store_explicit(&choice->ahead, false, memory_order_relaxed);
}

void gpubpf_hook_launch_begin(struct gpubpf_hook_launch *l)
{
	struct gpubpf_hook_kernel *k = l->kernel;
	uint64_t from = 0, waited = 0;

	l->twin = NULL;
	l->followed = false;
	l->spent_ns = 0;
	l->miss = GPUBPF_MISS_UNATTACHED;
	l->choice = NULL;
	l->binding = NULL;
	l->inherited = NULL;
	if (is_inherited_launch(l)) {
		gpubpf_session_rejoin();
		l->inherited = gpubpf_kernel_entry(k->name, l->device, true);
		return;
	}
	l->choice = find_entry(k, l->device);
	if (!l->choice && !(l->choice = add_entry(k, l->device, false)))
		return;
	if (atomic_load_explicit(&l->choice->ahead, memory_order_relaxed))
		note_first_launch(l->choice);
	l->number = atomic_fetch_add_explicit(&l->choice->entry->number, 1, memory_order_relaxed);
	if (is_timed(l))
		from = gpubpf_now_ns();
	if (atomic_load_explicit(&l->choice->binding, memory_order_relaxed) || !is_current(l->choice))
		waited = choose_kernel(l);
	if (from)
		l->spent_ns = gpubpf_now_ns() - from - waited;
}

/* A program that looks up hundreds of kernels and launches few of them gets its twins built at launch instead. */
void gpubpf_hook_kernel_prefetch(struct gpubpf_hook_kernel *kernel, struct gpubpf_hook_device *device)
{
	struct gpubpf_dispatch_entry *choice;
	uint64_t waited = 0;

	if (!gpubpf_session_enabled() || gpubpf_hook_callbacks || is_inherited(kernel->generation) ||
	    is_inherited(device->generation) || atomic_load(&unused) >= MAX_UNUSED || !gpubpf_plan_matches_now(kernel->whole))
		return;
	choice = find_entry(kernel, device);
	if (!choice && !(choice = add_entry(kernel, device, true)))
		return;
	if (!is_current(choice) && may_wait(choice))
		refresh_timed(choice, &waited);
	if (waited > MIN_WAIT_NS && !atomic_exchange(&choice->unused, true))
		atomic_fetch_add(&unused, 1);
	if (!is_current(choice))
		refresh_async(choice);
}

static void note_shape(struct gpubpf_kernel_row *k, const struct gpubpf_hook_launch *l)
{
	__atomic_store_n(&k->dim, l->dim, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++) {
		__atomic_store_n(&k->grid[i], l->grid[i], __ATOMIC_RELAXED);
		__atomic_store_n(&k->block[i], l->block[i], __ATOMIC_RELAXED);
	}
}

/* The reason is counted before the launch, see struct gpubpf_kernel_row. */
static void count_missed(struct gpubpf_kernel_row *k, enum gpubpf_miss miss)
{
	gpubpf_kernel_table_add(&k->missed[miss], 1);
	gpubpf_kernel_table_add(&k->launches, 1);
}

/* Why a launch that cannot have a twin is not probed. */
static enum gpubpf_miss miss_reason(const char *kernel)
{
	if (!gpubpf_session_enabled())
		return GPUBPF_MISS_STOPPED;
	return gpubpf_plan_matches_now(kernel) ? GPUBPF_MISS_UNSUPPORTED : GPUBPF_MISS_UNATTACHED;
}

/* The agent examined the kernel or built its twin when the program created it, and no launch has run that twin. */
static bool is_unlaunched(const struct gpubpf_kernel_row *k)
{
	return k->state != GPUBPF_KERNEL_REFUSED && !__atomic_load_n(&k->probed, __ATOMIC_RELAXED);
}

/* state and reason describe a kernel whose row has no reason yet. */
static void count_unprobed(struct gpubpf_kernel_entry *entry, const struct gpubpf_hook_launch *l, enum gpubpf_miss miss,
			   enum gpubpf_kernel_state state, const char *reason)
{
	struct gpubpf_kernel_row *k = entry->shared;

	atomic_fetch_add_explicit(&entry->number, 1, memory_order_relaxed);
	count_missed(k, miss);
	note_shape(k, l);
	if (miss == GPUBPF_MISS_UNSUPPORTED && !k->reason[0])
		gpubpf_kernel_table_set_state(entry, is_unlaunched(k) ? state : k->state, reason);
}

static void end_inherited(const struct gpubpf_hook_launch *l)
{
	enum gpubpf_miss miss = miss_reason(l->kernel->whole);

	if (miss == GPUBPF_MISS_UNSUPPORTED)
		gpubpf_log_once("process %d launches kernels that its parent made before the fork; they run "
				 "unprobed there; only kernels in contexts that the child creates are probed",
				 getpid());
	count_unprobed(l->inherited, l, miss, GPUBPF_KERNEL_REFUSED, "made before the fork of the process that launches it");
}

/* The device will have data to copy back. */
static void note_written(struct gpubpf_hook_device *d)
{
	if (!atomic_load(&d->dirty)) /* ordered with `running`, see clear_dirty() */
		atomic_store_explicit(&d->dirty, true, memory_order_relaxed);
	if (!atomic_load_explicit(&d->fresh, memory_order_relaxed))
		atomic_store_explicit(&d->fresh, true, memory_order_relaxed);
	if (atomic_load_explicit(&d->drain_sleeps, memory_order_relaxed))
		gpubpf_drain_wake(d);
}

static void count_links(const uint32_t *links, uint32_t n)
{
	struct gpubpf_kernel_table *table = gpubpf_session_kernel_table();

	for (uint32_t i = 0; i < n; i++)
		gpubpf_kernel_table_add(&table->link[links[i]].launches, 1);
}

static void count_time(const struct gpubpf_hook_launch *l)
{
	struct gpubpf_kernel_row *k = l->choice->entry->shared;
	uint32_t weight = l->number < TIMED_INTERVAL ? 1 : TIMED_INTERVAL;

	if (!is_timed(l))
		return;
	gpubpf_kernel_table_add(&k->hook_ns, l->spent_ns * weight);
	__atomic_fetch_add(&k->hook_samples, weight, __ATOMIC_RELAXED);
}

void gpubpf_hook_launch_end(struct gpubpf_hook_launch *l, enum gpubpf_hook_outcome outcome)
{
	struct gpubpf_kernel_row *k;

	if (l->followed && outcome != GPUBPF_LAUNCHED)
		gpubpf_ref_was_counted(atomic_fetch_sub(&l->device->running, 1)); /* it never started */
	if (outcome == GPUBPF_LAUNCH_FAILED)
		return;
	if (l->inherited)
		end_inherited(l);
	if (!l->choice)
		return;
	k = l->choice->entry->shared;
	if (l->twin && outcome == GPUBPF_LAUNCHED) {
		gpubpf_kernel_table_add(&k->probed, 1);
		gpubpf_kernel_table_add(&k->launches, 1);
		count_links(l->binding->links, l->binding->nlinks);
		if (l->followed)
			note_written(l->device);
	} else {
		count_missed(k, l->twin ? GPUBPF_MISS_UNFIT : l->miss);
	}
	note_shape(k, l);
	count_time(l);
}

struct gpubpf_hook_record {
	struct gpubpf_hook_launch launch;      /* its kernel may be destroyed; the kernel table's entry stays */
	struct gpubpf_kernel_entry *entry;
	const char *reason;
	enum gpubpf_kernel_state state;        /* state of the row that `reason` describes */
	size_t size;                           /* of the whole record */
	uint64_t plan;                         /* plan that `miss` refers to */
	enum gpubpf_miss miss;                 /* why a run of it is not probed */
	bool probed;
	uint32_t nlinks, links[]; /* links whose programs the twin contains; the kernel's full name follows them */
};

static char *name_of(struct gpubpf_hook_record *r)
{
	return (char *)&r->links[r->nlinks];
}

/* binding: of the recorded twin. NULL: the original was recorded. */
static struct gpubpf_hook_record *create_record(const struct gpubpf_hook_launch *l, const struct gpubpf_hook_binding *binding,
						const char *reason)
{
	uint32_t n = binding ? binding->nlinks : 0;
	size_t size = sizeof(struct gpubpf_hook_record) + n * sizeof(uint32_t) + strlen(l->kernel->whole) + 1;
	struct gpubpf_kernel_entry *entry = is_inherited_launch(l) ? NULL :
		gpubpf_kernel_entry(l->kernel->name, l->device, true);
	struct gpubpf_hook_record *r = entry ? calloc(1, size) : NULL;

	if (!r)
		return NULL;
	r->launch = *l;
	r->entry = entry;
	r->reason = reason;
	r->state = GPUBPF_KERNEL_REFUSED;
	r->size = size;
	r->plan = GPUBPF_NO_PLAN;
	r->probed = binding;
	r->nlinks = n;
	if (n)
		memcpy(r->links, binding->links, n * sizeof(*r->links));
	strcpy(name_of(r), l->kernel->whole);
	return r;
}

struct gpubpf_hook_record *gpubpf_hook_record_create(const struct gpubpf_hook_launch *l, const char *reason)
{
	return create_record(l, NULL, reason);
}

static bool is_transient_miss(const struct gpubpf_hook_launch *l)
{
	return l->miss == GPUBPF_MISS_LATE || l->miss == GPUBPF_MISS_CALLBACK;
}

struct gpubpf_hook_record *gpubpf_hook_launch_record(struct gpubpf_hook_launch *l, enum gpubpf_hook_outcome outcome,
						     const char *reason)
{
	struct gpubpf_hook_record *r;

	if (l->followed)
		gpubpf_ref_was_counted(atomic_fetch_sub(&l->device->running, 1)); /* it starts when the record runs */
	if (outcome == GPUBPF_LAUNCH_FAILED)
		return NULL;
	if (l->choice)
		count_time(l);
	r = create_record(l, l->twin && outcome == GPUBPF_LAUNCHED ? l->binding : NULL, reason);
	if (r)
		r->state = GPUBPF_KERNEL_WAITING;
	/* the plan yields no twin: report the reason of a launch, not of a recording */
	if (r && l->choice && !l->twin && !is_transient_miss(l)) {
		r->plan = atomic_load_explicit(&l->choice->plan, memory_order_acquire);
		r->miss = l->miss;
	}
	return r;
}

struct gpubpf_hook_record *gpubpf_hook_record_copy(const struct gpubpf_hook_record *record)
{
	struct gpubpf_hook_record *r = malloc(record->size);

	if (r)
		memcpy(r, record, record->size);
	return r;
}

/* A run of the recorded twin counts for the programs it contains. */
static void count_probed(const struct gpubpf_hook_record *r)
{
	struct gpubpf_kernel_row *k = r->entry->shared;

	gpubpf_kernel_table_add(&k->probed, 1);
	gpubpf_kernel_table_add(&k->launches, 1);
	count_links(r->links, r->nlinks);
	note_shape(k, &r->launch);
	if (r->launch.followed)
		note_written(r->launch.device);
}

void gpubpf_hook_record_launched(struct gpubpf_hook_record *r)
{
	uint64_t plan = gpubpf_plan_generation();

	if (r->probed) {
		count_probed(r);
		return;
	}
	if (r->plan != plan || !gpubpf_session_enabled())
		r->miss = miss_reason(name_of(r));
	r->plan = plan;
	count_unprobed(r->entry, &r->launch, r->miss, r->state, r->reason);
}

void gpubpf_hook_twin_refused(const struct gpubpf_hook_launch *l, int error)
{
	if (error == GPUBPF_TWIN_NO_ROOM)
		gpubpf_log_once("kernel %s: its twin needs more registers or shared memory than a launch of this "
				 "shape has; it ran unprobed", l->kernel->name);
	else if (error != GPUBPF_TWIN_REPORTED)
		gpubpf_log_once("kernel %s: the runtime refused a launch of its twin with error %d; it ran "
				 "unprobed", l->kernel->name, error);
}

/* Replace the twin that the launch took by one whose register limit fits. */
static bool take_narrower_twin(struct gpubpf_hook_launch *l)
{
	const struct gpubpf_hook_binding *binding;
	uint64_t waited;

	if (!l->registers || gpubpf_hook_callbacks)
		return false;
	if (l->followed)
		gpubpf_ref_was_counted(atomic_fetch_sub(&l->device->running, 1)); /* the first twin never started */
	l->followed = false;
	gpubpf_twin_limit_registers(l->choice, l->registers);
	if (!is_current(l->choice) && !gpubpf_wait_budget_is_left())
		gpubpf_agent_job_start(l->choice);
	else if (!is_current(l->choice))
		refresh_timed(l->choice, &waited);
	if (!is_current(l->choice))
		return false;
	binding = atomic_load_explicit(&l->choice->binding, memory_order_acquire);
	if (!binding || !binding->twin || binding == l->binding)
		return false;
	set_twin(l, binding);
	gpubpf_log_once("kernel %s: launched with as many blocks as fit the device at once; its twin was rebuilt "
			 "with %u registers per thread, so that they still fit", l->kernel->name, l->registers);
	return true;
}

int gpubpf_hook_launch_run(struct gpubpf_hook_launch *l,
			   int (*twin)(const void *call, struct gpubpf_hook_launch *launch),
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
	gpubpf_hook_launch_end(l, error ? GPUBPF_LAUNCH_FAILED : l->twin ? GPUBPF_LAUNCHED_ORIGINAL : GPUBPF_LAUNCHED);
	if (l->twin && !error)
		gpubpf_hook_twin_refused(l, refused);
	return error;
}
