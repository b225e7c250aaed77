/* SPDX-License-Identifier: Apache-2.0 */
/* Global variables: reads of .rodata are folded to constants, and .data and .bss are addressed directly. */
#include <gpubpf/probe.h>

const volatile __u64 wanted = 4660;
__u64 total, weights[4] = { 1, 2, 3, 4 };

SEC("gpu/entry/*")
int globals(struct gpubpf_ctx *ctx)
{
	if (ctx->launch != wanted)
		__sync_fetch_and_add(&total, weights[ctx->thread_idx[0] & 3]);
	return 0;
}
