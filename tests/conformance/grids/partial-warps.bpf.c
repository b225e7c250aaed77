/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of 33,1,1 threads, 7,1,1 of them: each thread runs the program once. */
#include "../case.h"

EXPECT("launch 7,1,1 33,1,1");
EXPECT("map threads[0] 231");
EXPECT("map linear[0] 26565");

GPUBPF_ARRAY(threads, __u64, 1);
GPUBPF_ARRAY(linear, __u64, 1);

SEC("gpu/entry/*")
int count(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&threads, 0, 1);
	gpubpf_add(&linear, 0, ctx->global_linear);
	return 0;
}
