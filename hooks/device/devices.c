/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of the application's devices, one per pair of context and device on which the application launches kernels.
 * Finds a device by its runtime context.
 */
#include "devices.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/wire/checks.h"
#include "maps/layout.h"

struct gpubpf_device_list gpubpf_devices = { .lock = PTHREAD_MUTEX_INITIALIZER };
static atomic_bool exiting;
static uint32_t next_number; /* number of the next device; protected by the list's lock */

static _Atomic(struct gpubpf_keyed_device *) keyed;

int gpubpf_hook_device_create(const struct gpubpf_hook_ops *ops, const struct gpubpf_device_open *how, uint32_t ordinal,
			      struct gpubpf_hook_device **device)
{
	struct gpubpf_hook_device *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	gpubpf_session_rejoin(); /* so that kernels in contexts that the child of a fork creates can be probed */
	d->ops = ops;
	d->how = *how;
	d->ordinal = ordinal;
	d->generation = gpubpf_session_generation();
	d->drain_threads = gpubpf_env_drain_threads();
	d->drain_bytes = gpubpf_env_drain_bytes();
	pthread_mutex_init(&d->lock, NULL);
	gpubpf_cond_init(&d->drained);
	pthread_mutex_lock(&gpubpf_devices.lock);
	d->number = next_number++;
	d->next = gpubpf_devices.first;
	d->link = &gpubpf_devices.first;
	if (gpubpf_devices.first)
		gpubpf_devices.first->link = &d->next;
	gpubpf_devices.first = d;
	pthread_mutex_unlock(&gpubpf_devices.lock);
	*device = d;
	return 0;
}

/* ending: also find a device that is being destroyed */
struct gpubpf_keyed_device *gpubpf_device_find_keyed(const struct gpubpf_hook_ops *ops, const void *key, bool ending)
{
	struct gpubpf_keyed_device *k = atomic_load_explicit(&keyed, memory_order_acquire);

	while (k && (atomic_load_explicit(&k->key, memory_order_relaxed) != key || k->device->ops != ops ||
		     (!ending && atomic_load_explicit(&k->device->gone, memory_order_relaxed))))
		k = k->next;
	return k;
}

void gpubpf_hook_devices_each(const struct gpubpf_hook_ops *ops, void (*fn)(struct gpubpf_hook_device *device))
{
	for (struct gpubpf_keyed_device *k = atomic_load(&keyed); k; k = k->next)
		if (k->device->ops == ops && atomic_load(&k->key))
			fn(k->device);
}

struct gpubpf_keyed_device *gpubpf_device_take_keyed(const struct gpubpf_hook_ops *ops)
{
	struct gpubpf_keyed_device *k = atomic_load(&keyed), *before = NULL;

	while (k && k->device->ops != ops) {
		before = k;
		k = k->next;
	}
	if (k && before)
		before->next = k->next;
	else if (k)
		atomic_store(&keyed, k->next);
	return k;
}

struct gpubpf_hook_device *gpubpf_hook_device_find(const struct gpubpf_hook_ops *ops, const void *key)
{
	struct gpubpf_keyed_device *k = gpubpf_device_find_keyed(ops, key, false);

	return k ? k->device : NULL;
}

struct gpubpf_hook_device *gpubpf_hook_device_add(const struct gpubpf_hook_ops *ops, const void *key,
						  const struct gpubpf_device_open *how, uint32_t ordinal)
{
	static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
	struct gpubpf_hook_device *device;
	struct gpubpf_keyed_device *k;

	pthread_mutex_lock(&adding);
	device = gpubpf_hook_device_find(ops, key);
	if (!device && (k = calloc(1, sizeof(*k)))) {
		k->key = key;
		if (gpubpf_hook_device_create(ops, how, ordinal, &k->device) < 0) {
			free(k);
		} else {
			device = k->device;
			k->next = keyed;
			atomic_store_explicit(&keyed, k, memory_order_release);
		}
	}
	pthread_mutex_unlock(&adding);
	return device;
}

const struct gpubpf_device_open *gpubpf_hook_device_open_params(const struct gpubpf_hook_device *device)
{
	return &device->how;
}

uint64_t gpubpf_hook_device_clock_offset(const struct gpubpf_hook_device *d)
{
	const struct gpubpf_arena_hdr *hdr = d->host;

	return __atomic_load_n(&hdr->clock_ns, __ATOMIC_RELAXED) - hdr->clock_cycles;
}

uint64_t gpubpf_hook_device_arena(const struct gpubpf_hook_device *device)
{
	return device->arena;
}

bool gpubpf_device_is_of_this_process(const struct gpubpf_hook_device *d)
{
	/* the child of a fork must not touch its parent's devices */
	return d->generation == gpubpf_session_generation();
}

void gpubpf_device_unmap_arena(struct gpubpf_hook_device *d, void *host, size_t size)
{
	if (host && !d->shared)
		munmap(host, size);
}

void gpubpf_hook_untracked_launch(struct gpubpf_hook_device *d)
{
	if (!atomic_load_explicit(&d->has_untracked, memory_order_relaxed))
		atomic_store(&d->has_untracked, true);
}

void gpubpf_hook_completed(struct gpubpf_hook_device *d)
{
	gpubpf_ref_was_counted(atomic_fetch_sub(&d->running, 1));
}

bool gpubpf_hook_device_gone(const struct gpubpf_hook_device *device)
{
	return atomic_load(&device->gone);
}

/*
 * This function counts the user before it reads `gone`. The thread that destroys the device sets `gone` before it reads
 * `users`. So at least one of the two threads sees the other's write.
 */
bool gpubpf_hook_device_use(struct gpubpf_hook_device *d)
{
	atomic_fetch_add(&d->users, 1);
	if (!atomic_load(&d->gone) && gpubpf_device_is_of_this_process(d))
		return true;
	gpubpf_hook_device_leave(d);
	return false;
}

void gpubpf_hook_device_leave(struct gpubpf_hook_device *d)
{
	gpubpf_ref_was_counted(atomic_fetch_sub(&d->users, 1));
}

void gpubpf_devices_begin_exit(void)
{
	atomic_store(&exiting, true);
}

bool gpubpf_devices_are_exiting(void)
{
	return atomic_load(&exiting);
}
