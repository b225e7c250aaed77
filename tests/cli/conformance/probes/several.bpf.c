/* SPDX-License-Identifier: Apache-2.0 */
/* Several programs at one place run in each thread, in the order in which the object lists them. */
#include "../case.h"

EXPECT("workload plain");
EXPECT("launch 4,1,1 32,1,1");
EXPECT("checks 384");

GPUBPF_PER_THREAD(last, __u64);

static __always_inline int step(__u64 want)
{
	__u32 key = 0;
	__u64 *at = bpf_map_lookup_elem(&last, &key);

	CHECK(at ? *at : 99, want);
	if (at)
		*at = want + 1;
	return 0;
}

SEC("gpu/entry/plain")
int first(struct gpubpf_ctx *ctx)
{
	return step(0);
}

SEC("gpu/entry/plain")
int second(struct gpubpf_ctx *ctx)
{
	return step(1);
}

SEC("gpu/exit/plain")
int third(struct gpubpf_ctx *ctx)
{
	return step(2);
}
