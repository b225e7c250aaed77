/* SPDX-License-Identifier: Apache-2.0 */
/* Programs at one kernel run in the object's order, in each thread. */
#include "../case.h"

EXPECT("launch 8,1,1 8,1,1");
EXPECT("checks 128");

GPUBPF_PER_THREAD(last, __u64);

static __always_inline void step(__u64 want)
{
	__u32 key = 0;
	__u64 *at = bpf_map_lookup_elem(&last, &key);

	if (!at)
		return;
	CHECK(*at, want);
	*at = want + 1;
}

SEC("gpu/entry/*")
int first(struct gpubpf_ctx *ctx)
{
	step(0);
	return 0;
}

SEC("gpu/entry/*")
int second(struct gpubpf_ctx *ctx)
{
	step(1);
	return 0;
}
