/* SPDX-License-Identifier: Apache-2.0 */
/* A program that counts threads and sums their numbers: each thread of a launch must run it once. */
#include "../case.h"

GPUBPF_ARRAY(threads, __u64, 1);
GPUBPF_ARRAY(linear, __u64, 1);

SEC("gpu/entry/*")
int count(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&threads, 0, 1);
	gpubpf_add(&linear, 0, ctx->global_linear);
	return 0;
}
