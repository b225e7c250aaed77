/* SPDX-License-Identifier: Apache-2.0 */
/* Entry and exit of a KERNEL: each thread runs both once, in this order, and the kernel's results do not change. */
#include "../case.h"

#ifndef LAUNCH
#define LAUNCH "5,1,1 64,1,1"
#endif

EXPECT("workload " KERNEL);
EXPECT("launch " LAUNCH);
EXPECT("map threads[1] THREADS");
EXPECT("map threads[2] THREADS");
EXPECT("checks THREADS");

GPUBPF_ARRAY(threads, __u64, 3);
GPUBPF_PER_THREAD(place, __u64);

SEC("gpu/entry/" KERNEL)
int entry(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	__u64 *at = bpf_map_lookup_elem(&place, &key);

	gpubpf_add(&threads, ctx->site & 3, 1);
	if (at)
		*at = ctx->global_linear + 1;
	return 0;
}

SEC("gpu/exit/" KERNEL)
int leave(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	__u64 *at = bpf_map_lookup_elem(&place, &key);

	gpubpf_add(&threads, ctx->site & 3, 1);
	CHECK(at ? *at : 0, ctx->global_linear + 1);
	return 0;
}
