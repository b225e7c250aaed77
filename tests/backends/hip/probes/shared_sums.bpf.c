/* SPDX-License-Identifier: Apache-2.0 */
/* Counts accesses of shared memory and their bytes, separately for loads, stores and atomics. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(accesses, __u64, 6);

SEC("gpu/mem.shared/*")
int access(struct gpubpf_ctx *ctx)
{
	__u32 kind = ctx->mem.access - GPUBPF_LOAD;

	if (kind > 2 || ctx->mem.space != GPUBPF_SHARED)
		return 0;
	gpubpf_add(&accesses, 2 * kind, 1);
	gpubpf_add(&accesses, 2 * kind + 1, ctx->mem.bytes);
	return 0;
}
