/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds accesses of global memory that are not entirely inside one of the application's allocations. For each place in
 * the code, it counts these accesses and records the first one before it happens. The maps survive a fault of the
 * kernel.
 */
#include <gpubpf/probe.h>

struct place {
	gpubpf_kernel kernel;
	__u32 place; /* number of the access in its function, counted in code order */
	__u32 line;  /* source line, 0: unknown */
};
struct stray {
	__u64 accesses;
	/* the members below describe the first access */
	gpubpf_address addr;
	__u64 past; /* bytes between the end of the preceding allocation and addr; ~0: no allocation is near */
	__u32 bytes, kind; /* 1 load, 2 store, 3 atomic, 4 prefetch */
	__u64 launch, block[3], thread[3];
};
GPUBPF_HASH(strays, struct place, struct stray, 1024);
GPUBPF_ARRAY(checked, __u64, 1);

#define NEAR 4096 /* an address up to this many bytes after an allocation is near it */

static __always_inline int is_inside(__u64 addr, __u64 bytes)
{
	struct gpubpf_allocation of;

	return !gpubpf_allocation(addr, &of) && addr - of.base + bytes <= of.size;
}

/*
 * Returns the number of bytes between the end of the preceding allocation and the address. Returns 0 for an address
 * inside an allocation, and ~0 if no allocation is near.
 */
static __always_inline __u64 past(__u64 addr)
{
	struct gpubpf_allocation of;

	if (!gpubpf_allocation(addr, &of))
		return 0;
#pragma clang loop unroll(disable)
	for (__u64 back = 1; back <= NEAR; back *= 4)
		if (!gpubpf_allocation(addr - back, &of))
			return addr - (of.base + of.size);
	return ~0ull;
}

static __always_inline void tell(struct gpubpf_ctx *ctx, struct stray *s)
{
	s->addr = ctx->mem.addr;
	s->past = past(ctx->mem.addr);
	s->bytes = ctx->mem.bytes;
	s->kind = ctx->mem.access;
	s->launch = ctx->launch;
	s->block[0] = ctx->block_idx[0];
	s->block[1] = ctx->block_idx[1];
	s->block[2] = ctx->block_idx[2];
	s->thread[0] = ctx->thread_idx[0];
	s->thread[1] = ctx->thread_idx[1];
	s->thread[2] = ctx->thread_idx[2];
}

SEC("gpu/mem_before/*")
int access(struct gpubpf_ctx *ctx)
{
	struct place key = { gpubpf_kernel_of(ctx), ctx->place, ctx->line };
	static const struct stray none;
	struct stray *s;

	gpubpf_add(&checked, 0, 1);
	if (!ctx->mem.bytes || is_inside(ctx->mem.addr, ctx->mem.bytes))
		return 0;
	s = bpf_map_lookup_elem(&strays, &key);
	if (!s) {
		/* fails harmlessly if another lane is first */
		bpf_map_update_elem(&strays, &key, (void *)&none, BPF_NOEXIST);
		s = bpf_map_lookup_elem(&strays, &key);
	}
	if (s && !gpubpf_fetch_add(&s->accesses, 1))
		tell(ctx, s);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
