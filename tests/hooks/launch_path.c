/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which launches the launch path probes, and which counter it increments for each launch. */
#include <stdatomic.h>

/* Lets threads wait for each other before each atomic addition, which is the worst order of the race. */
static void wait_for_threads(void);
#undef atomic_fetch_add_explicit
#define atomic_fetch_add_explicit(object, value, order) (wait_for_threads(), __atomic_fetch_add(object, value, order))

#include "hooks/launch/launch.c"

#include "tests/tap.h"

/* no program of a section host/ */
atomic_uint gpubpf_host_events;
atomic_uint_fast64_t gpubpf_host_generation;

uint64_t gpubpf_host_generation_now(void)
{
	return 0;
}

bool gpubpf_host_run_begin(struct gpubpf_host_call *call)
{
	return false;
}

void gpubpf_host_end(struct gpubpf_host_call *call, int64_t result)
{
}

#define THREADS 3

static struct gpubpf_kernel_table table;
static struct gpubpf_kernel_entry entry;
static uint64_t first;          /* --first */
static uint32_t generation = 1; /* number of the process, which a fork increments */
static bool wants = true;       /* true if the plan attaches a program to the kernel */
static unsigned refusals;
_Thread_local int gpubpf_hook_callbacks;

/* -- functions that the launch path calls -- */

uint64_t gpubpf_session_first(void)
{
	return first;
}

uint32_t gpubpf_session_generation(void)
{
	return generation;
}

uint64_t gpubpf_session_sample(void)
{
	return 1;
}

uint64_t gpubpf_session_every_ns(void)
{
	return 0;
}

uint64_t gpubpf_session_round(void)
{
	return 0;
}

bool gpubpf_session_enabled(void)
{
	return true;
}

void gpubpf_session_rejoin(void)
{
}

struct gpubpf_kernel_table *gpubpf_session_kernel_table(void)
{
	return &table;
}

void gpubpf_kernel_table_note_launched(struct gpubpf_kernel_entry *e)
{
}

const struct gpubpf_hook_binding *gpubpf_gate_choose(struct gpubpf_hook_launch *l,
						     const struct gpubpf_hook_binding *binding)
{
	return binding;
}

bool gpubpf_gate_admits_timed(struct gpubpf_hook_launch *l)
{
	return true;
}

void gpubpf_subsets_free(struct gpubpf_dispatch_entry *dispatch)
{
}

bool gpubpf_wait_budget_is_left(void)
{
	return true;
}

bool gpubpf_agent_job_start(struct gpubpf_dispatch_entry *choice)
{
	return true;
}

void gpubpf_twin_request(struct gpubpf_dispatch_entry *choice)
{
}

struct gpubpf_kernel_entry *gpubpf_kernel_entry(const char *name, const char *backend, uint32_t number, bool begun)
{
	return &entry;
}

void gpubpf_kernel_table_add(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

void gpubpf_kernel_table_set_state(struct gpubpf_kernel_entry *e, enum gpubpf_kernel_state state, const char *reason)
{
	snprintf(e->shared->reason, sizeof(e->shared->reason), "%s", reason);
}

bool gpubpf_plan_matches_now(const char *name)
{
	return wants;
}

bool gpubpf_twin_refresh_binding(struct gpubpf_dispatch_entry *choice, bool may_wait)
{
	return false;
}

void gpubpf_twin_limit_registers(struct gpubpf_dispatch_entry *choice, uint32_t registers)
{
}

uint64_t gpubpf_now_ns(void)
{
	return 1;
}

void gpubpf_log_once(const char *fmt, ...)
{
	refusals++;
}

void gpubpf_hold_enter(struct gpubpf_hook_device *device)
{
}

uint32_t gpubpf_stack_current_number(uint32_t skip, uint32_t depth)
{
	return 0;
}

uint64_t gpubpf_stack_word(uint32_t stack)
{
	return 0;
}

void gpubpf_drain_wake(struct gpubpf_hook_device *device)
{
}

void gpubpf_hook_untracked_launch(struct gpubpf_hook_device *device)
{
}

void gpubpf_hook_completed(struct gpubpf_hook_device *device)
{
}

/* -- a kernel with a twin, on a device that uses host memory -- */

static const struct gpubpf_device_ops device_ops = { .backend = "test" };
static const struct gpubpf_hook_ops ops = { .backend = "test", .device = &device_ops };
static struct gpubpf_hook_device device;
static struct gpubpf_hook_program program = { .ops = &ops };
static struct gpubpf_hook_kernel *kernel;
static struct gpubpf_dispatch_entry choice;
static struct gpubpf_hook_binding *binding;
static int twin_error, original_error;
static unsigned twins, originals;

static void begin(void)
{
	free(binding);
	free(kernel);
	memset(&table, 0, sizeof(table));
	memset(&entry, 0, sizeof(entry));
	entry.shared = &table.kernel[0];
	kernel = calloc(1, sizeof(*kernel) + 2);
	strcpy(kernel->full_name, "k");
	kernel->program = &program;
	binding = calloc(1, sizeof(*binding) + sizeof(*binding->links));
	binding->twin = &twins;
	choice = (struct gpubpf_dispatch_entry){ .kernel = kernel, .device = &device, .entry = &entry };
	atomic_store(&choice.binding, binding);
	atomic_store(&kernel->dispatches, &choice);
	device.ops = &ops;
	device.shared = true;
	device.generation = kernel->generation = generation = 1;
	first = 0;
	twin_error = original_error = 0;
	twins = originals = refusals = 0;
	wants = true;
}

static int run_twin(const void *call, struct gpubpf_hook_launch *launch)
{
	twins++;
	return twin_error;
}

static int run_original(const void *call)
{
	originals++;
	return original_error;
}

static int launch_once(void)
{
	struct gpubpf_hook_launch l = {
		.kernel = kernel, .device = &device, .dim = 1, .grid = { 64, 1, 1 }, .block = { 64, 1, 1 }
	};

	return gpubpf_hook_launch_run(&l, run_twin, run_original, NULL);
}

static uint64_t missed_for(enum gpubpf_miss miss)
{
	return entry.shared->missed[miss];
}

/*
 * Returns true if the counters have these values. missed counts launches missed for a reason that the user can change.
 */
static bool counted(uint64_t launches, uint64_t probed, uint64_t missed)
{
	const struct gpubpf_kernel_row *k = entry.shared;
	uint64_t found = missed_for(GPUBPF_MISS_UNFIT) + missed_for(GPUBPF_MISS_UNSUPPORTED), all = 0;

	for (int i = 0; i < GPUBPF_MISSES; i++)
		all += k->missed[i];
	if (k->launches == launches && k->probed == probed && found == missed && all == launches - probed)
		return true;
	note("%llu launches, %llu probed, %llu missed, %llu not probed", (unsigned long long)k->launches,
	     (unsigned long long)k->probed, (unsigned long long)found, (unsigned long long)all);
	return false;
}

static void test_outcomes(void)
{
	begin();
	ok(!launch_once() && twins == 1 && !originals && counted(1, 1, 0), "a twin that runs is a probed launch");
	twin_error = -5;
	ok(!launch_once() && originals == 1 && counted(2, 1, 1) && refusals == 1,
	   "one that the runtime refuses is a missed launch, and "
	   "the original runs");
	original_error = -7;
	ok(launch_once() == -7 && counted(2, 1, 1), "if the original fails, too, nothing was launched");
	begin();
	atomic_store(&choice.binding, NULL);
	ok(!launch_once() && !twins && originals == 1 && counted(1, 0, 0),
	   "a kernel without a twin is launched, not missed");
	begin();
	original_error = -7;
	twin_error = -5;
	ok(launch_once() == -7 && counted(0, 0, 0), "a launch that fails counts nowhere");
}

static void test_first(void)
{
	begin();
	first = 3;
	for (int i = 0; i < 5; i++)
		launch_once();
	ok(twins == 3 && originals == 2 && counted(5, 3, 0), "--first 3 probes three of five launches");
}

/* -- threads that race for the last launch of --first -- */

static atomic_int here, taken;
static _Thread_local bool meets;

static void wait_for_threads(void)
{
	if (!meets)
		return;
	meets = false;
	atomic_fetch_add(&here, 1);
	/* a thread that does not add never arrives, so the wait is limited to 5 s */
	for (int i = 0; i < 5000 && atomic_load(&here) < THREADS; i++)
		usleep(1000);
}

static void *run_take_first(void *arg)
{
	meets = true;
	atomic_fetch_add(&taken, is_within_first(&entry));
	return NULL;
}

static void test_racing_first(uint64_t before)
{
	pthread_t thread[THREADS];

	begin();
	first = before + 1;
	atomic_store(&entry.admitted, before);
	atomic_store(&here, 0);
	atomic_store(&taken, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, run_take_first, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	ok(taken == 1, "of %d threads at the last launch of --first %llu one is probed: %d", THREADS,
	   (unsigned long long)first, (int)taken);
}

static void test_inherited(void)
{
	static const struct {
		const char *what;
		uint32_t kernel, device;
		bool inherited;
	} cases[] = {
		{ "a kernel and a device of the parent", 1, 1, true },
		{ "a kernel of the parent", 1, 2, true },
		{ "a device of the parent", 2, 1, true },
		{ "a kernel and a device of the child", 2, 2, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool original = cases[i].inherited;

		begin();
		generation = 2;
		kernel->generation = cases[i].kernel;
		device.generation = cases[i].device;
		ok(!launch_once() && originals == original && twins == !original && counted(1, !original, original),
		   "after a fork %s: %s", cases[i].what, original ? "the original runs and is missed" : "the twin runs");
		ok(!original || strstr(entry.shared->reason, "before the fork"), "the reason says so");
	}
	begin();
	generation = 2;
	wants = false;
	ok(!launch_once() && counted(1, 0, 0), "a kernel of the parent that no plan names is not missed");
}

int main(void)
{
	test_outcomes();
	test_first();
	test_racing_first(0);
	test_racing_first(6);
	test_inherited();
	free(binding);
	free(kernel);
	return done();
}
