/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STACK_TRACE: the stacks that kernels were launched from. Each launch has the number of its stack (maps/host/stacks.h), and
 * the map stores the numbers of the stacks for which programs requested ids.
 *
 *   ctl        struct gpubpf_map_ctl
 *   data       buckets: u64 number of a stack, 0: free. The id of a stack is its bucket.
 *   stride     number of buckets, a power of two
 *
 * The Linux kernel selects the bucket by a hash of the addresses. Here the stack's number identifies the stack, so
 * BPF_F_FAST_STACK_CMP has no effect. Collisions only happen if there are more stacks than buckets.
 */
#ifndef GPUBPF_MAPS_STACK_TRACE_H
#define GPUBPF_MAPS_STACK_TRACE_H

#include "maps/device/words.h"

#define GPUBPF_STACK_SKIP 0xfful          /* uapi/linux/bpf.h: BPF_F_SKIP_FIELD_MASK, the number of frames to skip */
#define GPUBPF_STACK_USER (1ul << 8)
#define GPUBPF_STACK_FAST (1ul << 9)
#define GPUBPF_STACK_REUSE (1ul << 10)    /* the flag by which a new stack replaces the one in its bucket
					   * (BPF_F_REUSE_STACKID) */

GPUBPF_FN u64 gpubpf_launch_stack(u64 word)
{
	u64 mask = (1ul << GPUBPF_LAUNCH_HALF) - 1;

	return (word >> GPUBPF_LAUNCH_LOW & mask) | (word >> GPUBPF_LAUNCH_HIGH & mask) << GPUBPF_LAUNCH_HALF;
}

/*
 * Helper 27. Returns the id, or -EINVAL for invalid flags, or -EEXIST if another stack uses the bucket. Returns -EFAULT
 * if the stack is unknown. A call without BPF_F_USER_STACK requests the kernel's stack, so it returns -EFAULT too.
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
