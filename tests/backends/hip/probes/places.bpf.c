/* SPDX-License-Identifier: Apache-2.0 */
/* For each place, sums of its context over the active lanes; tests/backends/hip/places.py checks them. */
#include <gpubpf/probe.h>

#define PLACES 48
#define AT(ctx, place) ((ctx)->site == GPUBPF_SITE_##place)

struct told {
	__u64 lanes, ids;          /* number of lanes, sum of their ids */
	__u64 offset, address;     /* offset in global memory from the first argument; address minus offset */
	__u64 what;                /* bytes, access, space, count */
	__u64 value[2];
	__u64 op, operand, old;
	__u64 line;
	__u64 barrier;
	__u64 hint;
};
struct places {
	struct told at[PLACES];
};
GPUBPF_ARRAY(places, struct places, 1);

static __always_inline void tell_access(struct gpubpf_ctx *ctx, struct told *t)
{
	__u64 base = ctx->mem.space == GPUBPF_GLOBAL ? ctx->arg[0] : 0;

	gpubpf_count(&t->offset, ctx->mem.offset - base);
	gpubpf_count(&t->address, (__u32)ctx->mem.addr - (__u32)ctx->mem.offset);
	gpubpf_count(&t->what, ctx->mem.bytes + (ctx->mem.access << 8) + (ctx->mem.space << 16) + (ctx->mem.count << 24));
	gpubpf_count(&t->hint, ctx->mem.hint);
	gpubpf_count(&t->value[0], ctx->mem.value[0]);
	gpubpf_count(&t->value[1], ctx->mem.value[1]);
}

/* twin.c in tests/backends/hip makes a verified copy of this program for each kind of place. */
SEC("gpu/mem.all/*")
int tell(struct gpubpf_ctx *ctx)
{
	struct places *p = bpf_map_lookup_elem(&places, &(__u32){ 0 });
	struct told *t;
	__u32 i = ctx->place;

	if (!p || i >= PLACES)
		return 0;
	t = &p->at[i];
	gpubpf_count(&t->lanes, 1);
	gpubpf_count(&t->ids, ctx->global_linear);
	gpubpf_count(&t->line, ctx->line);
	if (AT(ctx, BARRIER) || AT(ctx, BARRIER_EXIT))
		gpubpf_count(&t->barrier, ctx->barrier.kind + 16 * ctx->barrier.id);
	else
		tell_access(ctx, t);
	if (AT(ctx, ATOMIC)) {
		gpubpf_count(&t->op, ctx->atomic.op);
		gpubpf_count(&t->operand, ctx->atomic.operand);
		gpubpf_count(&t->old, ctx->atomic.old);
	}
	return 0;
}
