/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STACK_TRACE: which stacks kernels were launched from. A stack is known by its number (maps/stacks.h), which a launch has
 * with it; the map remembers which numbers it was asked for.
 *
 *   ctl        struct gpubpf_map_ctl
 *   data       buckets: u64 number of a stack, 0: none. The id of a stack is its bucket.
 *   stride     their number, a power of two
 *
 * The Linux kernel takes a bucket by a hash of the addresses. A number tells stacks apart as well, so BPF_F_FAST_STACK_CMP
 * changes nothing, and buckets meet no sooner than there are more stacks than buckets.
 */
#ifndef GPUBPF_MAPS_STACK_TRACE_H
#define GPUBPF_MAPS_STACK_TRACE_H

#include "words.h"

#define GPUBPF_STACK_SKIP 0xfful          /* uapi/linux/bpf.h: BPF_F_SKIP_FIELD_MASK, how many frames are left out */
#define GPUBPF_STACK_USER (1ul << 8)
#define GPUBPF_STACK_FAST (1ul << 9)
#define GPUBPF_STACK_REUSE (1ul << 10)    /* the last stack of a bucket stays, not the first */

GPUBPF_FN u64 gpubpf_launch_stack(u64 word)
{
	u64 mask = (1ul << GPUBPF_LAUNCH_HALF) - 1;

	return (word >> GPUBPF_LAUNCH_LOW & mask) | (word >> GPUBPF_LAUNCH_HIGH & mask) << GPUBPF_LAUNCH_HALF;
}

/* Helper 27. The id, -EINVAL of other flags, -EFAULT: no such stack (without BPF_F_USER_STACK it would be the kernel's), -EEXIST:
 * the bucket is another stack's. */
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
