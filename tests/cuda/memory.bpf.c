/* SPDX-License-Identifier: Apache-2.0 */
/* Of each kind of access of memory: how many, their bytes, and a sum over all else that they give. */
#include <gpubpf/probe.h>

struct told {
	__u64 accesses, bytes, sum;
};
GPUBPF_ARRAY(global, struct told, 1);
GPUBPF_ARRAY(all, struct told, 1);

static __always_inline int tell(void *map, struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	struct told *t = bpf_map_lookup_elem(map, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->bytes, ctx->mem.bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->sum, ctx->mem.addr + 3 * ctx->mem.offset + 5 * ctx->mem.value[0] + 7 * ctx->mem.value[1] +
			   11 * ctx->mem.access + 13 * ctx->mem.space + 17 * ctx->mem.count + 19 * ctx->line, __ATOMIC_RELAXED);
	return 0;
}

SEC("gpu/mem/*") int mem(struct gpubpf_ctx *ctx) { return tell(&global, ctx); }
SEC("gpu/mem.all/*") int mem_all(struct gpubpf_ctx *ctx) { return tell(&all, ctx); }

char LICENSE[] SEC("license") = "GPL";
