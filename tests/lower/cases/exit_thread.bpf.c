/* SPDX-License-Identifier: Apache-2.0 */
/* Helper 507 ends the site from inside a subprogram. */
/* expect llvm 1 select i1 %\d+, i32 0, i32 1 */
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
