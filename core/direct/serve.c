/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches the resident kernel of an executor. The session writes requests into memory that the device reads. This
 * process does not see them. It only shows the device that it is alive.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "maps/layout.h"
#include "runner.h"

#define BEAT_MS 10
#define LIMIT_NS 2000000000ull  /* time after which a device with a clock ends the launch, if the heartbeat stops */
#define LIMIT_POLLS (1ull << 33) /* the same for devices without a clock: some 10 s */

/* Increment the heartbeat until the process ends. */
static void *beat(void *block)
{
	struct gpubpf_direct_block *b = block;
	struct timespec pause = { 0, BEAT_MS * 1000000l };

	for (;;) {
		__atomic_store_n(&b->beat, b->beat + 1, __ATOMIC_RELEASE);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/*
 * Make the block accessible to the device while the kernel runs. Host and device must access the same memory, because
 * the session's process writes requests into it.
 */
static int share_block(struct runner *r, const struct gpubpf_device_caps *caps, struct gpubpf_reason *why)
{
	struct gpubpf_device_memory memory;

	if (caps->bits & GPUBPF_CAP_SHARED_ARENA)
		return r->ops->arena_attach(r->device, r->block, r->size, &r->address, why);
	snprintf(why->text, sizeof(why->text),
		 "the device cannot access memory that it shares with another process; use gpubpf prog run");
	if (!r->ops->memory_get || !gpubpf_placement_live(GPUBPF_PLACE_PINNED, caps->bits) ||
	    gpubpf_placement_lacks(GPUBPF_PLACE_PINNED, caps->bits))
		return -1;
	if (r->ops->memory_get(r->device, GPUBPF_PLACE_PINNED, r->block, r->size, &memory, why) < 0)
		return -1;
	r->address = memory.address;
	return 0;
}

static int launch(struct runner *r, struct gpubpf_device_kernel *kernel, struct gpubpf_reason *why)
{
	uint64_t key = GPUBPF_SERVE_KEY;
	const void *args[] = { &r->address, &r->data_size, &key };
	const size_t sizes[] = { sizeof(r->address), sizeof(r->data_size), sizeof(key) };
	struct gpubpf_device_launch l = { .dim = 3, .args = args, .arg_sizes = sizes, .nargs = 3 };
	pthread_t thread;

	runner_set_sizes(r, &l);
	if (pthread_create(&thread, NULL, beat, r->block)) {
		snprintf(why->text, sizeof(why->text), "no thread for the heartbeat");
		return -1;
	}
	return r->ops->launch(kernel, &l, why);
}

int runner_serve(struct runner *r)
{
	const struct gpubpf_device_caps *caps = r->ops->caps(r->device);
	const struct runner_form *form = runner_find_form(caps, true);
	struct gpubpf_device_kernel *kernel;
	struct gpubpf_device_module *module;
	struct gpubpf_reason why = { "" };

	snprintf(r->block->backend, sizeof(r->block->backend), "%s", caps->backend);
	snprintf(r->block->device, sizeof(r->block->device), "%s", caps->name);
	if (!form)
		return runner_fail(r, "gpubpf has no resident kernel for this device; use gpubpf prog run", NULL);
	if (share_block(r, caps, &why) < 0)
		return runner_fail(r, "sharing memory with the device", &why);
	r->block->limit = form->kind == GPUBPF_IMAGE_PTX ? LIMIT_NS : LIMIT_POLLS;
	if (r->ops->module_load(r->device, form->kind, form->data, form->size, "", &module, &why) < 0 ||
	    r->ops->kernel_get(module, GPUBPF_SERVE_KERNEL, &kernel, &why) < 0)
		return runner_fail(r, "loading the kernel", &why);
	if (launch(r, kernel, &why) < 0)
		return runner_fail(r, "the launch failed", &why);
	r->block->runs++;
	return 0;
}
