/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits a record for every access of global memory: address, size, kind, number of the allocation, kernel, launch, and
 * time.
 */
#include "../memories.h"

struct access {
	gpubpf_address addr;
	gpubpf_kernel kernel;
	__u64 ns, launch;
	__u32 bytes, kind; /* kind: 1 load, 2 store, 3 atomic, 4 prefetch */
	__u32 memory, unused;
};
GPUBPF_RINGBUF(accesses, struct access, 1 << 22);

SEC("gpu/mem/*")
int trace(struct gpubpf_ctx *ctx)
{
	struct access *a = bpf_ringbuf_reserve(&accesses, sizeof(*a), 0);

	if (!a)
		return 0; /* the ring is full, and counts the record as dropped */
	a->addr = ctx->mem.addr;
	a->kernel = gpubpf_kernel_of(ctx);
	a->ns = bpf_ktime_get_ns();
	a->launch = ctx->launch;
	a->bytes = ctx->mem.bytes;
	a->kind = ctx->mem.access;
	a->memory = memory_row(ctx->mem.addr);
	a->unused = 0;
	bpf_ringbuf_submit(a, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
