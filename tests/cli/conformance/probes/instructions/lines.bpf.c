/* SPDX-License-Identifier: Apache-2.0 */
/* A probe at a source line that each thread executes once. */
#include "../../case.h"

EXPECT("workload lines");
EXPECT("needs lines");
EXPECT("needs gpu/line");
EXPECT("launch 5,1,1 64,1,1");
EXPECT("map sum[0] THREADS");
EXPECT("checks THREADS");

GPUBPF_ARRAY(sum, __u64, 1);

SEC("gpu/line/lines.cl:1000")
int line(struct gpubpf_ctx *ctx)
{
	CHECK(ctx->line, 1000);
	gpubpf_add(&sum, 0, 1);
	return 0;
}
