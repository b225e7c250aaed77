/* SPDX-License-Identifier: Apache-2.0 */
/* Private to hooks/launch: counters of launches and of kernels that wait for a launch. */
#ifndef GPUBPF_HOOKS_COUNT_H
#define GPUBPF_HOOKS_COUNT_H

#include "hooks/agent.h"

/* The child of a fork lacks its parent's threads, which may have held locks. */
static inline bool gpubpf_generation_is_inherited(uint32_t generation)
{
	return generation != gpubpf_session_generation();
}

/* kernel.c: dispatch entries whose twins a caller waited for and that were not launched since */
int gpubpf_entries_unused(void);
void gpubpf_entry_note_unused(struct gpubpf_dispatch_entry *choice);
void gpubpf_entry_note_used(struct gpubpf_dispatch_entry *choice);

/* count.c */
bool gpubpf_launch_is_inherited(const struct gpubpf_hook_launch *l);
bool gpubpf_launch_is_timed(const struct gpubpf_hook_launch *l);
void gpubpf_count_shape(struct gpubpf_kernel_row *k, const struct gpubpf_hook_launch *l);
void gpubpf_count_missed(struct gpubpf_kernel_row *k, enum gpubpf_miss miss);
void gpubpf_count_links(const uint32_t *links, uint32_t n);
void gpubpf_count_time(const struct gpubpf_hook_launch *l);
/* Why a launch that cannot have a twin is not probed. */
enum gpubpf_miss gpubpf_miss_reason(const char *kernel);
/* state and reason describe a kernel whose row has no reason yet. */
void gpubpf_count_unprobed(struct gpubpf_kernel_entry *entry, const struct gpubpf_hook_launch *l, enum gpubpf_miss miss,
			   enum gpubpf_kernel_state state, const char *reason);
/* The device will have data to copy back. */
void gpubpf_note_written(struct gpubpf_hook_device *device);

#endif
