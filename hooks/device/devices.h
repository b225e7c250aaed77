/* SPDX-License-Identifier: Apache-2.0 */
/* Private to hooks/device: the list of devices, and functions that make a device ready, copy it back and destroy it. */
#ifndef GPUBPF_HOOKS_DEVICES_H
#define GPUBPF_HOOKS_DEVICES_H

#include "device.h"
#include "hooks/process/agent_thread.h"
#include "hooks/process/process.h"

/* devices.c */
extern struct gpubpf_device_list {
	pthread_mutex_t lock; /* protects the list; take it before a device's lock */
	struct gpubpf_hook_device *first;
	bool leaving; /* the process is exiting: do not call the runtime */
} gpubpf_devices;

/* Returns true if this process created the device, false if it inherited the device from the parent of a fork. */
bool gpubpf_device_is_of_this_process(const struct gpubpf_hook_device *device);
/*
 * Returns the record with this key (the runtime's context), or NULL. ending: also find a device that is being
 * destroyed, whose key becomes NULL at the end of its destruction.
 */
struct gpubpf_keyed_device *gpubpf_device_find_keyed(const struct gpubpf_hook_ops *ops, const void *key, bool ending);
/* Remove one device of the adapter from the list. Returns NULL if there is none. No thread may use the list. */
struct gpubpf_keyed_device *gpubpf_device_take_keyed(const struct gpubpf_hook_ops *ops);
void gpubpf_device_unmap_arena(struct gpubpf_hook_device *device, void *host, size_t size);

/* connects a runtime context (`key`) with its device; never freed */
struct gpubpf_keyed_device {
	struct gpubpf_keyed_device *next;
	_Atomic(const void *) key; /* NULL: destroyed */
	struct gpubpf_hook_device *device;
};

/* final_copy.c: export the device's memory to the tool, if that memory can outlive this process. */
void gpubpf_device_export_arena(struct gpubpf_hook_device *device);

/* copy_back.c: make the final copy. Waits for GPU kernels up to a time limit. */
void gpubpf_device_pull_last(struct gpubpf_hook_device *device);

/*
 * device_end.c: call when a device is ready. The first call registers the exit handler of the process. shared: the
 * device's arena is in host memory.
 */
void gpubpf_device_register_ready(bool shared);

#endif
