/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the bytes that each kernel loads from and stores to global memory. */
#include "by_kernel.h"

struct GPUBPF_ROW moved {
	__u64 loaded, stored;
};
BY_KERNEL(bytes, struct moved);

SEC("gpu/mem/*")
GPUBPF_ABOUT("bytes that each kernel loads from and stores to global memory")
int count_bytes(struct gpubpf_ctx *ctx)
{
	struct moved *moved = of_kernel(ctx, &bytes);
	__u64 kind = ctx->mem.access;

	if (!moved || kind == GPUBPF_PREFETCH || ctx->mem.space == GPUBPF_SHARED || ctx->mem.space == GPUBPF_LOCAL)
		return 0;
	if (kind != GPUBPF_STORE) /* an atomic access counts as both */
		gpubpf_count(&moved->loaded, ctx->mem.bytes);
	if (kind != GPUBPF_LOAD)
		gpubpf_count(&moved->stored, ctx->mem.bytes);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
