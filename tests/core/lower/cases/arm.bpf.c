/* SPDX-License-Identifier: Apache-2.0 */
/* A program that arms another, by a constant and by a number. */
#include <gpubpf/probe.h>

GPUBPF_ARMS(trace);

SEC("gpu/entry/*")
int trace(struct gpubpf_ctx *ctx)
{
	return 0;
}

SEC("gpu/exit/*")
int watch(struct gpubpf_ctx *ctx)
{
	if (ctx->launch & 1)
		gpubpf_arm(trace, 2);
	else
		gpubpf_arm(trace, ctx->launch);
	return 0;
}
