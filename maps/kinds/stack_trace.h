/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STACK_TRACE: the host stacks of launches. Each launch has the number of its stack (maps/host/stacks.h). The map
 * contains the numbers of the stacks for which programs requested an id.
 *
 *   ctl        struct gpubpf_map_ctl
 *   data       the buckets: u64 number of a stack, or 0 if free. The id of a stack is the index of its bucket
 *   stride     number of buckets, a power of two
 *
 * The Linux kernel selects the bucket by a hash of the addresses. Here the number of a stack identifies it, so
 * BPF_F_FAST_STACK_CMP has no effect. Two stacks have the same bucket only if there are more stacks than buckets.
 */
#ifndef GPUBPF_MAPS_STACK_TRACE_H
#define GPUBPF_MAPS_STACK_TRACE_H

#include "maps/device/words.h"

#define GPUBPF_STACK_SKIP 0xfful          /* uapi/linux/bpf.h: BPF_F_SKIP_FIELD_MASK, the number of frames to skip */
#define GPUBPF_STACK_USER (1ul << 8)
#define GPUBPF_STACK_FAST (1ul << 9)
#define GPUBPF_STACK_REUSE (1ul << 10)    /* BPF_F_REUSE_STACKID: a new stack replaces the stack in its bucket */

GPUBPF_FN u64 gpubpf_launch_stack(u64 word)
{
	u64 mask = (1ul << GPUBPF_LAUNCH_HALF) - 1;

	return (word >> GPUBPF_LAUNCH_LOW & mask) | (word >> GPUBPF_LAUNCH_HIGH & mask) << GPUBPF_LAUNCH_HALF;
}

/*
 * Helper 27. Returns the id of the launch's stack. Returns -EINVAL for invalid flags, and -EEXIST if another stack uses
 * the bucket. Returns -EFAULT if the stack is unknown, or without BPF_F_USER_STACK, because this would request the
 * stack of the Linux kernel.
 */
GPUBPF_FN s64 gpubpf_stack_trace_stackid(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 flags)
{
	u64 number = gpubpf_launch_stack(env->pid_tgid), id = number & (stride - 1);
	u64 bucket = env->arena + data + 8 * id, has;

	if (flags & ~(GPUBPF_STACK_SKIP | GPUBPF_STACK_USER | GPUBPF_STACK_FAST | GPUBPF_STACK_REUSE))
		return -GPUBPF_EINVAL;
	if (!number || !(flags & GPUBPF_STACK_USER))
		return -GPUBPF_EFAULT;
	has = gpubpf_load_u64(bucket);
	if (!has)
		has = gpubpf_cas_u64(bucket, 0, number);
	if (!has || has == number)
		return (s64)id;
	if (!(flags & GPUBPF_STACK_REUSE))
		return -GPUBPF_EEXIST;
	gpubpf_store_u64(bucket, number);
	return (s64)id;
}

#endif
