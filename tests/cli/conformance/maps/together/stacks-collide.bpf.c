/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STACK_TRACE with one bucket. The bucket keeps the first launch's stack until BPF_F_REUSE_STACKID replaces it in the
 * third launch.
 */
#include "../../case.h"

EXPECT("launch 2,1,1 32,1,1");
EXPECT("launches 3");
EXPECT("alone");
EXPECT("checks 4*THREADS");

#define FIRST 5 /* number of the first launch */

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64[16]);
} stacks SEC(".maps");

SEC("gpu/entry/*")
int collide(struct gpubpf_ctx *ctx)
{
	__u64 nth = ctx->launch - FIRST;

	if (nth == 2)
		CHECK(bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK | BPF_F_REUSE_STACKID), 0);
	CHECK(bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK), nth == 1 ? -17 : 0);
	return 0;
}
