/* SPDX-License-Identifier: Apache-2.0 */
/* Context fields of places: each operand is read at a place that provides it. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(seen, __u64, 16);

static __always_inline int keep(__u32 key, __u64 value)
{
	__u64 *at = bpf_map_lookup_elem(&seen, &key);

	if (at)
		*at = value;
	return 0;
}

SEC("gpu/call_exit/*")
int call_exit(struct gpubpf_ctx *ctx)
{
	return keep(0, ctx->result + *(__u16 *)&ctx->result + ctx->arg[1]);
}

SEC("gpu/mem/*")
int mem(struct gpubpf_ctx *ctx)
{
	return keep(1, ctx->mem.addr + ctx->mem.value[0] + ctx->mem.value[1] + ctx->mem.bytes + ctx->mem.access +
		       ctx->mem.space + ctx->place + ctx->line);
}

SEC("gpu/branch/*")
int branch(struct gpubpf_ctx *ctx)
{
	return keep(2, ctx->branch.lanes + ctx->branch.taken + ctx->branch.active);
}

SEC("gpu/atomic/*")
int atomic(struct gpubpf_ctx *ctx)
{
	return keep(3, ctx->atomic.op + ctx->atomic.operand + ctx->atomic.old + ctx->mem.addr);
}

SEC("gpu/barrier/*")
int at_barrier(struct gpubpf_ctx *ctx)
{
	return keep(4, ctx->barrier.id + ctx->barrier.kind);
}

SEC("gpu/insn/ld.global*")
int insn(struct gpubpf_ctx *ctx)
{
	return keep(5, ctx->operand[0] + ctx->operand[7]);
}

SEC("gpu/mark/loop")
int mark(struct gpubpf_ctx *ctx)
{
	return keep(6, ctx->mark + ctx->line);
}
