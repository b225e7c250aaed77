/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the bytes that kernels load from and store to each of the application's allocations. The key is the number of
 * the allocation. The session describes the allocations in a second map.
 */
#include "../memories.h"

struct GPUBPF_ROW moved {
	__u64 loaded, stored;
};
GPUBPF_ARRAY(moved, struct moved, ROWS);

SEC("gpu/mem/*")
int access(struct gpubpf_ctx *ctx)
{
	__u64 bytes = ctx->mem.bytes, kind = ctx->mem.access;
	__u32 row = memory_row(ctx->mem.addr);
	struct moved *m = bpf_map_lookup_elem(&moved, &row);

	if (!m)
		return 0;
	if (kind != GPUBPF_STORE) /* a prefetch counts as a load; an atomic access counts as both */
		gpubpf_count(&m->loaded, bytes);
	if (kind == GPUBPF_STORE || kind == GPUBPF_ATOMIC)
		gpubpf_count(&m->stored, bytes);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
