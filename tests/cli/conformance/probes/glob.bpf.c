/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A section name with a pattern selects all matching kernels. A program whose section names another kernel does not
 * run.
 */
#include "../case.h"

EXPECT("workload plain");
EXPECT("launch 2,1,1 16,1,1");
EXPECT("map threads[0] 32");
EXPECT("map threads[1] 0");

GPUBPF_ARRAY(threads, __u64, 2);

SEC("gpu/entry/pl*n")
int matches(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&threads, 0, 1);
	return 0;
}

SEC("gpu/entry/again")
int other(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&threads, 1, 1);
	return 0;
}
