/* SPDX-License-Identifier: Apache-2.0 */
/* Some launches arm or disarm a program, which counts the launches in which it runs by their last digit. */
#include <gpubpf/probe.h>

GPUBPF_ARMS(trace);
GPUBPF_ARRAY(traced, __u64, 10);

SEC("gpu/exit/step_*")
int watch(struct gpubpf_ctx *ctx)
{
	if (ctx->launch % 10 == 3)
		gpubpf_arm(trace, 2);
	if (ctx->launch % 10 == 7)
		gpubpf_arm(trace, 5);
	if (ctx->launch % 10 == 8)
		gpubpf_disarm(trace);
	return 0;
}

SEC("gpu/entry/step_*")
int trace(struct gpubpf_ctx *ctx)
{
	if (!ctx->global_linear)
		gpubpf_add(&traced, ctx->launch % 10, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
