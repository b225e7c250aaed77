/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up the context fields that machine code provides for accesses of shared, local and
 * generic memory, also where the address space is unknown. The programs have no branches. */
#include <gpubpf/probe.h>

struct told {
	__u64 accesses, bytes, offsets, stored, kinds, spaces;
};

GPUBPF_ARRAY(shared, struct told, 1);
GPUBPF_ARRAY(local, struct told, 1);
GPUBPF_ARRAY(all, struct told, 1);

static __always_inline int tell(void *map, struct gpubpf_ctx *ctx, __u64 offset)
{
	__u32 key = 0;
	struct told *t = bpf_map_lookup_elem(map, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->bytes, ctx->mem.bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->offsets, offset, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->stored, ctx->mem.value[0] + 3 * ctx->mem.value[1], __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->kinds, ctx->mem.access, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->spaces, ctx->mem.space, __ATOMIC_RELAXED);
	return 0;
}

SEC("gpu/mem.shared/*tiles*") int mem_shared(struct gpubpf_ctx *ctx) { return tell(&shared, ctx, ctx->mem.offset); }
SEC("gpu/mem.local/*own*") int mem_local(struct gpubpf_ctx *ctx) { return tell(&local, ctx, 0); }
SEC("gpu/mem.all/*") int mem_all(struct gpubpf_ctx *ctx) { return tell(&all, ctx, 0); }

char LICENSE[] SEC("license") = "GPL";
