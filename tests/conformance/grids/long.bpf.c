/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of 4,1,1 threads, 4096,1,1 of them: each thread runs the program once. */
#include "../case.h"

EXPECT("launch 4096,1,1 4,1,1");
EXPECT("map threads[0] 16384");
EXPECT("map linear[0] 134209536");

GPUBPF_ARRAY(threads, __u64, 1);
GPUBPF_ARRAY(linear, __u64, 1);

SEC("gpu/entry/*")
int count(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&threads, 0, 1);
	gpubpf_add(&linear, 0, ctx->global_linear);
	return 0;
}
