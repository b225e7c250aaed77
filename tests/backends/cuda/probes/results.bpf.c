/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up the results of device functions. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(sums, __u64, 1);

SEC("gpu/call_exit/*")
int returned(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&sums, 0, ctx->result);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
