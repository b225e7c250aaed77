/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of a thread never go backwards. */
#include "../case.h"

EXPECT("launch 2,1,1 16,1,1");
EXPECT("checks 64");

SEC("gpu/entry/*")
int clocks(struct gpubpf_ctx *ctx)
{
	__u64 ns = bpf_ktime_get_ns(), ticks = bpf_get_globaltimer();

	bpf_gpu_membar();
	CHECK(bpf_ktime_get_ns() >= ns, 1);
	CHECK(bpf_get_globaltimer() >= ticks, 1);
	return 0;
}
