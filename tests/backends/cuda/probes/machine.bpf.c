/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up the context fields that machine code provides: before and after each access
 * of global memory, and for atomics and barriers. The programs have no branches. */
#include <gpubpf/probe.h>

struct told {
	__u64 accesses, bytes, addresses, stored, kinds;
};

GPUBPF_ARRAY(after, struct told, 1);
GPUBPF_ARRAY(before, struct told, 1);

struct done {
	__u64 times, ops, operands, old;
};

GPUBPF_ARRAY(atomics, struct done, 1);
GPUBPF_ARRAY(waits, struct done, 1);
GPUBPF_ARRAY(waited, struct done, 1);

static __always_inline int tell(void *map, struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	struct told *t = bpf_map_lookup_elem(map, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->bytes, ctx->mem.bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->addresses, ctx->mem.addr, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->stored, ctx->mem.value[0] + 3 * ctx->mem.value[1], __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->kinds, ctx->mem.access, __ATOMIC_RELAXED);
	return 0;
}

SEC("gpu/mem/*") int mem(struct gpubpf_ctx *ctx) { return tell(&after, ctx); }
SEC("gpu/mem_before/*") int mem_before(struct gpubpf_ctx *ctx) { return tell(&before, ctx); }

static __always_inline int did(void *map, __u64 op, __u64 operand, __u64 old)
{
	__u32 key = 0;
	struct done *t = bpf_map_lookup_elem(map, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->times, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->ops, op, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->operands, operand, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->old, old, __ATOMIC_RELAXED);
	return 0;
}

SEC("gpu/atomic/*") int atomic(struct gpubpf_ctx *ctx)
{
	return did(&atomics, ctx->atomic.op, ctx->atomic.operand, ctx->atomic.old);
}

SEC("gpu/barrier/*") int wait(struct gpubpf_ctx *ctx) { return did(&waits, ctx->barrier.kind, ctx->barrier.id, 0); }
SEC("gpu/barrier_exit/*") int passes(struct gpubpf_ctx *ctx) { return did(&waited, ctx->barrier.kind, ctx->barrier.id, 0); }

char LICENSE[] SEC("license") = "GPL";
