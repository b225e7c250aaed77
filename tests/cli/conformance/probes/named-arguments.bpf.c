/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel arguments that programs read by the names of the kernel's parameters. */
#include "../case.h"

EXPECT("workload plain");
EXPECT("needs names");
EXPECT("launch 2,1,1 16,1,1");
EXPECT("checks 160");

SEC("gpu/entry/plain")
int named(struct gpubpf_ctx *ctx)
{
	CHECK((signed char)bpf_gpu_named_arg(ctx, "c"), (signed char)-3);
	CHECK((short)bpf_gpu_named_arg(ctx, "s"), (short)-1000);
	CHECK((int)bpf_gpu_named_arg(ctx, "i"), -100000);
	CHECK(bpf_gpu_named_arg(ctx, "l"), -10000000000);
	CHECK((__u32)bpf_gpu_named_arg(ctx, "last"), 4000000000);
	return 0;
}
