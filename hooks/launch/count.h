/* SPDX-License-Identifier: Apache-2.0 */
/* Private to hooks/launch: counts launches, and kernels whose twins were prefetched but not launched. */
#ifndef GPUBPF_HOOKS_COUNT_H
#define GPUBPF_HOOKS_COUNT_H

#include "hooks/agent.h"

/*
 * Returns true if the object was created by the parent of a fork. Its lock may be held by a thread that the child does
 * not have.
 */
static inline bool gpubpf_generation_is_inherited(uint32_t generation)
{
	return generation != gpubpf_session_generation();
}

/*
 * kernel.c: returns the number of unused entries. An entry is unused if a prefetch waited for its twin and no launch
 * has used the twin since.
 */
int gpubpf_entries_unused(void);
void gpubpf_entry_note_unused(struct gpubpf_dispatch_entry *dispatch);
void gpubpf_entry_note_used(struct gpubpf_dispatch_entry *dispatch);

/*
 * launch.c: returns process id << 32 | thread id. The value is cached per thread; the child of a fork queries both ids
 * again.
 */
uint64_t gpubpf_launch_pid_tgid(void);

/* launch.c: runs the programs of sections host/launch_exit, if there are any. */
void gpubpf_launch_end_host(struct gpubpf_hook_launch *l, enum gpubpf_hook_outcome outcome);

/* count.c */
bool gpubpf_launch_is_inherited(const struct gpubpf_hook_launch *l);
bool gpubpf_launch_is_timed(const struct gpubpf_hook_launch *l);
void gpubpf_count_shape(struct gpubpf_kernel_row *k, const struct gpubpf_hook_launch *l);
void gpubpf_count_missed(struct gpubpf_kernel_row *k, enum gpubpf_miss miss);
void gpubpf_count_links(const uint32_t *links, uint32_t n);
/* Count a launch that the runtime measures, for the programs that would measure it otherwise. */
void gpubpf_count_timed(struct gpubpf_dispatch_entry *dispatch);
/* Returns the entry's times in the kernel table. NULL: the entry is not in the table. */
struct gpubpf_launch_times *gpubpf_entry_times(const struct gpubpf_kernel_entry *entry);
void gpubpf_count_time(const struct gpubpf_hook_launch *l);
/*
 * Returns why a launch without a twin is not probed: the session has stopped probing, no BPF program is attached, or
 * the launch is unsupported.
 */
enum gpubpf_miss gpubpf_miss_reason(const char *kernel);
/*
 * Count an unprobed launch. If miss is GPUBPF_MISS_UNSUPPORTED and the row has no reason yet, store state and reason in
 * the row.
 */
void gpubpf_count_unprobed(struct gpubpf_kernel_entry *entry, const struct gpubpf_hook_launch *l, enum gpubpf_miss miss,
			   enum gpubpf_kernel_state state, const char *reason);
/* Call when a twin was launched: marks the device's maps as changed, so that they are copied back. */
void gpubpf_note_written(struct gpubpf_hook_device *device);

#endif
