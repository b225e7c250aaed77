/* SPDX-License-Identifier: Apache-2.0 */
/* exit_thread (helper 507) in a subprogram ends the whole site. */
#include <gpubpf/probe.h>

static __noinline int leave(__u64 when)
{
	if (when & 1)
		bpf_exit_thread();
	return when != 0;
}

SEC("gpu/entry/*")
int end(struct gpubpf_ctx *ctx)
{
	return leave(ctx->thread_idx[0]);
}
