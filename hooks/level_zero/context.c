/* SPDX-License-Identifier: Apache-2.0 */
#include "level_zero.h"

#include <errno.h>
#include <stdlib.h>

#include "core/wire/checks.h"
#include "hooks/process/agent_thread.h"

GPUBPF_RECORDS(lz_contexts)

struct device {
	struct device *next;
	ze_device_handle_t handle;
	struct gpubpf_hook_device *hook;
};

struct context {
	struct gpubpf_record object;
	_Atomic(struct device *) devices;
};

static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static struct device *find_device(struct context *c, ze_device_handle_t handle)
{
	struct device *dev = c ? atomic_load_explicit(&c->devices, memory_order_acquire) : NULL;

	while (dev && dev->handle != handle)
		dev = dev->next;
	return dev;
}

struct adding {
	struct lz_driver *driver;
	ze_context_handle_t context;
	struct device *device;
	int err;
};

static void create_hook(void *arg)
{
	struct adding *a = arg;
	struct gpubpf_device_open how = { .runtime = &a->driver->api, .context = a->context, .handle = a->device->handle };

	a->err = gpubpf_hook_device_create(&lz_hook_ops, &how, lz_device_ordinal(a->driver, how.handle), &a->device->hook);
}

/* Create the record of a device in a context, if there is none. The caller holds the lock. */
static struct device *add_device(struct lz_driver *d, ze_context_handle_t context, ze_device_handle_t handle)
{
	struct context *c = gpubpf_records_find(&lz_contexts, context);
	struct device *dev = find_device(c, handle);
	struct adding a = { d, context, NULL, -ENOMEM };

	gpubpf_assert_held(&adding);
	if (dev || !(dev = calloc(1, sizeof(*dev))))
		return dev;
	if (!c && (c = calloc(1, sizeof(*c))))
		gpubpf_records_add(&lz_contexts, context, &c->object);
	dev->handle = handle;
	a.device = dev;
	if (c)
		gpubpf_run_on_agent_thread(create_hook, &a);
	if (a.err < 0) {
		free(dev);
		return NULL;
	}
	dev->next = c->devices;
	atomic_store_explicit(&c->devices, dev, memory_order_release);
	return dev;
}

struct gpubpf_hook_device *lz_context_device(struct lz_driver *d, ze_context_handle_t context, ze_device_handle_t handle)
{
	struct device *dev = find_device(gpubpf_records_find(&lz_contexts, context), handle);

	if (!dev) {
		pthread_mutex_lock(&adding);
		dev = add_device(d, context, handle);
		pthread_mutex_unlock(&adding);
	}
	return dev ? dev->hook : NULL;
}

/*
 * The context contains memory and modules of the agent. So before the context is destroyed, copy the maps back and
 * release these objects.
 */
ze_result_t lz_ContextDestroy(struct lz_driver *d, ze_context_handle_t context)
{
	struct context *c = gpubpf_records_release(&lz_contexts, context);
	struct device *next;

	gpubpf_allocations_end(context);
	for (struct device *dev = c ? c->devices : NULL; dev; dev = next) {
		next = dev->next;
		gpubpf_allocations_end(dev->hook);
		gpubpf_hook_device_destroy(dev->hook);
		free(dev);
	}
	free(c);
	return d->next.ContextDestroy(context);
}
