/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STACK_TRACE: bpf_get_stackid() returns the bucket of the launch's stack (number 2053, in bucket 5 of 1024), and every
 * error.
 */
#include "../case.h"

EXPECT("launch 2,1,1 32,1,1");
EXPECT("alone");
EXPECT("checks 448");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1000);
	__type(key, __u32);
	__type(value, __u64[16]);
} stacks SEC(".maps");

SEC("gpu/entry/*")
int stack(struct gpubpf_ctx *ctx)
{
	CHECK(bpf_get_stackid(ctx, &stacks, 0), -14);
	CHECK(bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK | 1 << 11), -22);
	CHECK(bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK), 5);
	CHECK(bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK | BPF_F_FAST_STACK_CMP), 5);
	CHECK(bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK | BPF_F_REUSE_STACKID), 5);
	CHECK(bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK), 5);
	CHECK(bpf_get_current_pid_tgid(), 0x0000123400005678);
	return 0;
}
