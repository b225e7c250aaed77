/* SPDX-License-Identifier: Apache-2.0 */
/* The first thread of each block looks up the block's tenant in a table of the host, and adds its weight. */
#include <gpubpf/probe.h>

#include "policy.h"

GPUBPF_HOST_CALL(policy, struct question, struct answer);
GPUBPF_ARRAY(weights, __u64, 64); /* by tenant */
GPUBPF_ARRAY(failures, __u64, 1);

SEC("gpu/entry/*")
int entered(struct gpubpf_ctx *ctx)
{
	struct question q = { gpubpf_kernel_of(ctx), ctx->block_idx[0] };
	struct answer a;

	if (ctx->thread_idx[0] || ctx->thread_idx[1] || ctx->thread_idx[2])
		return 0;
	if (gpubpf_call_host(&policy, &q, &a) < 0)
		gpubpf_add(&failures, 0, 1);
	else
		gpubpf_add(&weights, a.tenant, a.weight);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
