/* SPDX-License-Identifier: Apache-2.0 */
/* Private to hooks/device: the list of devices, and how a device becomes ready, is copied back and ends. */
#ifndef GPUBPF_HOOKS_DEVICES_H
#define GPUBPF_HOOKS_DEVICES_H

#include "device.h"
#include "hooks/process/agent_thread.h"
#include "hooks/process/process.h"

/* devices.c */
extern struct gpubpf_device_list {
	pthread_mutex_t lock; /* protects the list; taken before a device's lock */
	struct gpubpf_hook_device *first;
	bool leaving; /* the process is exiting: do not call the runtime */
} gpubpf_devices;

/* Did this process, not the parent of a fork, create the device? */
bool gpubpf_device_is_of_this_process(const struct gpubpf_hook_device *device);
/* The record with this key (the runtime's context), or NULL. ending: also one that is being destroyed; its key becomes
 * NULL when that is done. */
struct gpubpf_keyed_device *gpubpf_device_find_keyed(const struct gpubpf_hook_ops *ops, const void *key, bool ending);
void gpubpf_device_unmap_arena(struct gpubpf_hook_device *device, void *host, size_t size);

/* maps a runtime context to its device; never freed */
struct gpubpf_keyed_device {
	struct gpubpf_keyed_device *next;
	_Atomic(const void *) key; /* NULL: destroyed */
	struct gpubpf_hook_device *device;
};

/* final_copy.c: export the device's memory to the tool if it can outlive this process */
void gpubpf_device_export_arena(struct gpubpf_hook_device *device);

/* copy_back.c: the final copy; waits for kernels up to a limit */
void gpubpf_device_pull_last(struct gpubpf_hook_device *device);

/* device_end.c: call when a device is ready. The first call registers the exit handler of the process. */
void gpubpf_device_register_ready(bool shared);

#endif
