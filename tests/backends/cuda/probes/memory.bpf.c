/* SPDX-License-Identifier: Apache-2.0 */
#include "../told.h"

GPUBPF_ARRAY(global, struct told, 1);
GPUBPF_ARRAY(all, struct told, 1);
GPUBPF_ARRAY(by_access, __u64, 4);

SEC("gpu/mem/*") int mem(struct gpubpf_ctx *ctx) { return tell(&global, ctx); }
SEC("gpu/mem.all/*") int mem_all(struct gpubpf_ctx *ctx) { return tell(&all, ctx); }

SEC("gpu/mem_before/*") int mem_before(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&by_access, ctx->mem.access & 3, ctx->mem.bytes);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
