/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: copies the maps of devices with their own memory back to the session's mirrors. This happens when the tool
 * requests it, after the application has waited for a device, and when a device is destroyed.
 * Before: twins have run on a ready device since the last copy.
 * After: the mirror has the results of all twins that ended before the copy, and the tool knows of the copy.
 * Requires: the lock order of agent.h. The list's lock prevents the destruction of devices during the copy.
 */
#include "devices.h"

#include <time.h>

#include "core/wire/checks.h"

#define PULL_TIME_DIVISOR 20 /* copies that the tool did not request take at most 1/20 of the time */
#define REQUESTED_PULL_MS 300 /* how long a copy that the tool requested waits for running kernels */
#define MAX_DRAINS 4   /* per copy, since GPU kernels may fill ring buffers as fast as the agent drains them */
#define LAST_RECORDS_NS 5000000000ull /* how long the final copy waits for the tool to empty a full mirror */
#define SETTLE_MS 2000 /* how long a copy waits for kernels when their context is destroyed or the process exits */

/*
 * Call before a copy: later launches mark the device dirty again. Returns false if a twin runs, so that the copy must
 * not happen; devices with the operation `settle` are copied even then. A launch increments `running` before it reads
 * `dirty`, and this function writes `dirty` before it reads `running`. So one of the two sees the other.
 */
static bool clear_dirty(struct gpubpf_hook_device *d, uint32_t wait_ms)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	bool busy;

	atomic_store(&d->dirty, false);
	busy = ops->settle ? ops->settle(d->device, wait_ms) : atomic_load(&d->running);
	if (busy)
		atomic_store(&d->dirty, true);
	return !busy || ops->settle;
}

/*
 * Copy the device's maps back, then drain its ring buffers. *left receives the bytes of records that are still on the
 * device.
 */
static int copy_back(struct gpubpf_hook_device *d, uint32_t wait_ms, uint64_t *left)
{
	struct gpubpf_mirror m = gpubpf_device_mirror(d, wait_ms);
	int err = gpubpf_mirror_pull(&m);
	int64_t n = 1;

	gpubpf_assert_held(&d->lock);
	for (int i = 0; !err && n > 0 && i < MAX_DRAINS; i++)
		n = gpubpf_mirror_drain(&m, left);
	return err ? err : n < 0 ? n : 0;
}

/*
 * Wait up to wait_ms for GPU kernels, then copy back. The lock keeps the device open meanwhile. The next automatic copy
 * is due after PULL_TIME_DIVISOR times the duration of this copy. Returns false if a kernel runs or the copy failed.
 */
static bool pull(struct gpubpf_hook_device *d, uint32_t wait_ms, uint64_t *left)
{
	uint64_t from = gpubpf_now_ns(), to;
	bool may = true, whole;
	int err = 0;

	pthread_mutex_lock(&d->lock);
	if (d->state == DEVICE_READY && !d->shared) {
		gpubpf_kernel_table_begin_copy(d->ops->backend, d->ordinal);
		may = clear_dirty(d, wait_ms);
		whole = may && !atomic_load(&d->dirty);
		if (d->ops->device->settle && whole)
			gpubpf_clock_recalibrate(d);
		gpubpf_external_maps_copy(d);
		err = may ? copy_back(d, wait_ms, left) : 0;
		if (whole && !err)
			gpubpf_kernel_table_end_copy(d->ops->backend, d->ordinal);
		to = gpubpf_now_ns();
		atomic_store(&d->next_pull_ns, to + PULL_TIME_DIVISOR * (to - from));
		if (err < 0)
			gpubpf_device_report_final_copy(d, false);
	}
	pthread_mutex_unlock(&d->lock);
	return may && !err;
}

static void send_pulled(uint32_t number, uint32_t asked)
{
	struct gpubpf_writer w = { 0 };

	gpubpf_put_u32(&w, number);
	gpubpf_put_u32(&w, asked);
	gpubpf_client_notify(GPUBPF_MSG_PULLED, &w);
	gpubpf_writer_finish(&w);
}

/* Copy only external maps (external_maps.c), which the host can read while GPU kernels run. */
static void copy_external(struct gpubpf_hook_device *d)
{
	pthread_mutex_lock(&d->lock);
	if (d->state == DEVICE_READY)
		gpubpf_external_maps_copy(d);
	pthread_mutex_unlock(&d->lock);
}

void gpubpf_device_pull(uint32_t number, uint32_t asked)
{
	uint64_t left;

	pthread_mutex_lock(&gpubpf_devices.lock);
	for (struct gpubpf_hook_device *d = gpubpf_devices.first; d && !gpubpf_devices.leaving; d = d->next)
		if (d->number == number && gpubpf_device_is_of_this_process(d) && !atomic_load(&d->running))
			pull(d, REQUESTED_PULL_MS, &left);
		else if (d->number == number && gpubpf_device_is_of_this_process(d))
			copy_external(d);
	pthread_mutex_unlock(&gpubpf_devices.lock);
	/* send the message even if the device is destroyed, because the tool waits for it */
	send_pulled(number, asked);
}

static bool any_running(void)
{
	bool any = false;

	pthread_mutex_lock(&gpubpf_devices.lock);
	for (struct gpubpf_hook_device *d = gpubpf_devices.first; d && !gpubpf_devices.leaving; d = d->next)
		any |= gpubpf_device_is_of_this_process(d) && atomic_load(&d->running) > 0;
	pthread_mutex_unlock(&gpubpf_devices.lock);
	return any;
}

/* Copy the maps of one device during a hold (hooks/launch/hold.c), while no launch is in progress. */
static enum gpubpf_held pull_held(struct gpubpf_hook_device *d, uint64_t deadline)
{
	uint64_t now = gpubpf_now_ns(), left;

	gpubpf_assert_held(&gpubpf_devices.lock);
	if (!gpubpf_device_is_of_this_process(d) || d->state != DEVICE_READY)
		return GPUBPF_HELD;
	if (d->shared)
		return GPUBPF_HELD_SHARED;
	if (atomic_load(&d->has_untracked))
		return GPUBPF_HELD_UNTRACKED;
	if (!pull(d, now < deadline ? (deadline - now) / 1000000 : 0, &left))
		return GPUBPF_HELD_BUSY;
	return atomic_load(&d->dirty) || atomic_load(&d->running) ? GPUBPF_HELD_BUSY : GPUBPF_HELD;
}

enum gpubpf_held gpubpf_device_pull_snapshot(uint64_t deadline)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	enum gpubpf_held held;

	while (any_running() && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
	do {
		held = GPUBPF_HELD;
		pthread_mutex_lock(&gpubpf_devices.lock);
		for (struct gpubpf_hook_device *d = gpubpf_devices.first;
		     d && !gpubpf_devices.leaving && held == GPUBPF_HELD; d = d->next)
			held = pull_held(d, deadline);
		pthread_mutex_unlock(&gpubpf_devices.lock);
	} while (held == GPUBPF_HELD_BUSY && gpubpf_now_ns() < deadline);
	return held;
}

/*
 * The final copy. It waits at most SETTLE_MS for GPU kernels, since a kernel may never end. While records do not fit in
 * the mirror, it waits up to LAST_RECORDS_NS for the tool to read some.
 */
void gpubpf_device_pull_last(struct gpubpf_hook_device *d)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t deadline = gpubpf_now_ns() + LAST_RECORDS_NS, left = 0;
	bool good = true;

	if (atomic_load(&d->dirty) && !atomic_load(&d->running)) {
		good = pull(d, SETTLE_MS, &left);
		while (good && left && gpubpf_session_up() && gpubpf_now_ns() < deadline) {
			nanosleep(&nap, NULL);
			good = pull(d, 0, &left);
		}
		if (good)
			send_pulled(d->number, 0);
	}
	pthread_mutex_lock(&d->lock);
	gpubpf_drain_stop(d);
	if (good && !left)
		gpubpf_device_report_final_copy(d, true);
	pthread_mutex_unlock(&d->lock);
}

static bool may_pull(const struct gpubpf_hook_device *d)
{
	return atomic_load(&d->dirty) && !atomic_load(&d->running) && gpubpf_device_is_of_this_process(d) &&
	       gpubpf_now_ns() >= atomic_load(&d->next_pull_ns);
}

static bool any_idle(void)
{
	const struct gpubpf_hook_device *d = gpubpf_devices.first;

	while (d && !may_pull(d))
		d = d->next;
	return d;
}

/*
 * Copy idle devices back. This runs in an agent thread, while the application's thread holds the list's lock and waits.
 * The copy's duration counts from *from, the time at which the application's thread began to wait.
 */
static void pull_idle(void *from)
{
	uint64_t left, now;

	for (struct gpubpf_hook_device *d = gpubpf_devices.first; d; d = d->next) {
		if (!may_pull(d))
			continue;
		pull(d, REQUESTED_PULL_MS, &left);
		now = gpubpf_now_ns();
		atomic_store(&d->next_pull_ns, now + PULL_TIME_DIVISOR * (now - *(uint64_t *)from));
		send_pulled(d->number, 0);
	}
}

void gpubpf_hook_device_synced(void)
{
	uint64_t from;

	if (!gpubpf_device_any_copied_arena() || pthread_mutex_trylock(&gpubpf_devices.lock))
		return;
	from = gpubpf_now_ns();
	if (any_idle())
		gpubpf_run_on_agent_thread(pull_idle, &from);
	pthread_mutex_unlock(&gpubpf_devices.lock);
}
