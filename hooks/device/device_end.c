/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a device: the application destroys the device or its context, or the process exits. If the arena is
 * outside host memory, it is copied back for the last time. After that the agent does not call the runtime.
 */
#include "devices.h"

#include <stdlib.h>
#include <time.h>

#define LAST_TWINS_NS 500000000ull /* how long the destruction of a device waits until the ends of twins are reported */
#define EXIT_WAIT_NS 2000000000ull
#define LOADING_NS 5000000000ull   /* how long the process's exit waits for threads that load twins */
#define CONTEXT_END_NS 60000000000ull /* how long a context's destruction waits for such threads */
#define EXIT_NS 20000000000ull     /* limit of all work at exit, in case the driver never answers */

static atomic_bool any_copied; /* a device has an arena outside host memory */
static atomic_bool any_ready;

static bool wait_loaded(struct gpubpf_hook_device *d, uint64_t ns)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	uint64_t deadline = gpubpf_now_ns() + ns;

	while (atomic_load(&d->users) && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
	return !atomic_load(&d->users);
}

/*
 * Wait up to LAST_TWINS_NS until the runtime has reported the end of all twins. Runtimes report from their own threads,
 * maybe after the application has seen the end of its kernels. Returns true if no twin is left.
 */
static bool wait_ended(struct gpubpf_hook_device *d)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	uint64_t deadline = gpubpf_now_ns() + LAST_TWINS_NS;

	while (atomic_load(&d->running) && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
	return !atomic_load(&d->running);
}

/* After this function returns, no agent thread calls the runtime. */
void gpubpf_device_copy_all_at_exit(void)
{
	if (!gpubpf_mutex_lock_until(&gpubpf_devices.lock, gpubpf_now_ns() + EXIT_WAIT_NS))
		return;
	for (struct gpubpf_hook_device *d = gpubpf_devices.first; d; d = d->next) {
		if (gpubpf_device_is_of_this_process(d))
			wait_loaded(d, LOADING_NS);
		if (atomic_load(&d->dirty) && gpubpf_device_is_of_this_process(d))
			wait_ended(d);
	}
	for (struct gpubpf_hook_device *d = gpubpf_devices.first; d; d = d->next)
		if (gpubpf_device_is_of_this_process(d))
			gpubpf_device_pull_last(d);
	gpubpf_allocations_leave();
	gpubpf_devices.leaving = true;
	pthread_mutex_unlock(&gpubpf_devices.lock);
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool left;
} leave = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *leave_thread(void *arg)
{
	gpubpf_device_copy_all_at_exit();
	pthread_mutex_lock(&leave.lock);
	leave.left = true;
	pthread_cond_signal(&leave.ended);
	pthread_mutex_unlock(&leave.lock);
	return NULL;
}

/*
 * Do the work at exit in an agent thread, and wait for it at most EXIT_NS. So a driver that never answers does not
 * block the application.
 */
static void leave_bounded(void)
{
	uint64_t deadline = gpubpf_now_ns() + EXIT_NS;

	gpubpf_cond_init(&leave.ended);
	if (gpubpf_thread_start(leave_thread, NULL) < 0) {
		gpubpf_device_copy_all_at_exit();
		return;
	}
	pthread_mutex_lock(&leave.lock);
	while (!leave.left && gpubpf_now_ns() < deadline)
		gpubpf_cond_wait_until(&leave.ended, &leave.lock, deadline);
	if (!leave.left)
		gpubpf_log_once("the driver did not answer for %llu s when the application ended: maps may lack the "
				"results of its last kernels",
				EXIT_NS / 1000000000);
	pthread_mutex_unlock(&leave.lock);
}

/* Wait for agent threads that load twins. The runtime shuts down next, and must not be called after that. */
static void wait_for_loads(void)
{
	gpubpf_devices_begin_exit();
	if (!gpubpf_mutex_lock_until(&gpubpf_devices.lock, gpubpf_now_ns() + EXIT_WAIT_NS))
		return;
	for (struct gpubpf_hook_device *d = gpubpf_devices.first; d; d = d->next)
		if (gpubpf_device_is_of_this_process(d))
			wait_loaded(d, LOADING_NS);
	pthread_mutex_unlock(&gpubpf_devices.lock);
}

static void at_exit(void)
{
	if (gpubpf_session_sealed())
		return; /* a seccomp filter forbids the agent's system calls; all data was copied before */
	wait_for_loads();
	if (gpubpf_device_any_copied_arena())
		leave_bounded();
	gpubpf_session_flush_rings();
}

/*
 * Register the exit handler when the first device is ready. Then it runs before the exit handlers that the runtime
 * registered earlier.
 */
void gpubpf_device_register_ready(bool shared)
{
	if (!shared)
		atomic_store(&any_copied, true);
	if (!atomic_exchange(&any_ready, true))
		atexit(at_exit);
}

bool gpubpf_device_any_copied_arena(void)
{
	return atomic_load_explicit(&any_copied, memory_order_relaxed);
}

static void stop_threads(struct gpubpf_hook_device *d)
{
	pthread_mutex_lock(&d->lock);
	gpubpf_drain_stop(d);
	pthread_mutex_unlock(&d->lock);
}

/* Remove the device from the list and release its resources. Returns false if the resources cannot be released. */
static bool release_device(struct gpubpf_hook_device *d)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	bool loaded;

	if (!gpubpf_device_is_of_this_process(d))
		/*
		 * inherited from the parent of a fork: the device is not in the list, and the runtime may be in any
		 * state
		 */
		return false;
	pthread_mutex_lock(&gpubpf_devices.lock);
	*d->link = d->next;
	if (d->next)
		d->next->link = d->link;
	pthread_mutex_unlock(&gpubpf_devices.lock);
	loaded = wait_loaded(d, CONTEXT_END_NS);
	/* detach even if the device's record stays, since its context is about to be destroyed */
	gpubpf_allocations_detach(d);
	if (!wait_ended(d) || !loaded) {
		stop_threads(d);
		return false; /* a twin still runs or loads, and will decrement a counter in this record */
	}
	gpubpf_device_pull_last(d);
	if (d->state == DEVICE_READY) {
		gpubpf_external_maps_free(d);
		ops->arena_detach(d->device);
	}
	if (d->device)
		ops->close(d->device);
	gpubpf_device_unmap_arena(d, d->host, d->size);
	gpubpf_request_drop(d->arena_request);
	return true;
}

struct release_job {
	struct gpubpf_hook_device *device;
	bool done;
};

static void release_job_run(void *arg)
{
	struct release_job *g = arg;

	g->done = release_device(g->device);
}

static bool release_off_thread(struct gpubpf_hook_device *d)
{
	struct release_job g = { d, false };

	if (gpubpf_device_is_of_this_process(d) && d->device)
		gpubpf_run_on_agent_thread(release_job_run, &g);
	else
		release_job_run(&g);
	return g.done;
}

void gpubpf_hook_device_destroy(struct gpubpf_hook_device *d)
{
	if (!d || (gpubpf_device_is_of_this_process(d) && !wait_ended(d)))
		return; /* a twin still runs: the device stays in the list, and a later copy includes its results */
	if (!release_off_thread(d))
		return;
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->drained);
	free(d);
}

static void end_device(struct gpubpf_hook_device *d)
{
	bool ends = release_off_thread(d);

	if (!gpubpf_device_is_of_this_process(d))
		return;
	pthread_mutex_lock(&d->lock);
	if (ends)
		d->device = NULL;
	d->state = DEVICE_REFUSED; /* threads that still wait for a twin on the device get a refusal */
	pthread_mutex_unlock(&d->lock);
}

/*
 * Several threads may destroy or reset the context at the same time. No thread returns before the device's resources
 * are released.
 */
void gpubpf_hook_device_end(const struct gpubpf_hook_ops *ops, const void *key)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	struct gpubpf_keyed_device *k = key ? gpubpf_device_find_keyed(ops, key, true) : NULL;
	uint64_t deadline = gpubpf_now_ns() + CONTEXT_END_NS;

	if (!k)
		return;
	if (!atomic_exchange(&k->device->gone, true)) {
		end_device(k->device);
		atomic_store(&k->key, NULL);
	}
	while (atomic_load(&k->key) && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
}

static void end_once(struct gpubpf_hook_device *d)
{
	if (!atomic_exchange(&d->gone, true))
		end_device(d);
}

void gpubpf_hook_devices_end(const struct gpubpf_hook_ops *ops)
{
	gpubpf_hook_devices_each(ops, end_once);
}

void gpubpf_hook_devices_forget(const struct gpubpf_hook_ops *ops)
{
	struct gpubpf_keyed_device *k;

	while ((k = gpubpf_device_take_keyed(ops))) {
		struct gpubpf_hook_device *d = k->device;

		/* a device that could not be released, or that the parent of a fork created, keeps its record */
		if (!d->device && !atomic_load(&d->users) && gpubpf_device_is_of_this_process(d)) {
			pthread_mutex_destroy(&d->lock);
			pthread_cond_destroy(&d->drained);
			free(d);
		}
		free(k);
	}
}

/*
 * Call in the child of a fork, which starts without devices. Another thread of the parent may have held the list's
 * lock, so initialize it.
 */
void gpubpf_devices_after_fork(void)
{
	pthread_mutex_init(&gpubpf_devices.lock, NULL);
	gpubpf_shared_arena_after_fork();
	gpubpf_allocations_after_fork();
	gpubpf_devices.first = NULL;
}
