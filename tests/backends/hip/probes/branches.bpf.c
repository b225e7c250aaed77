/* SPDX-License-Identifier: Apache-2.0 */
/* For each branch, sums of its context over the active lanes; tests/backends/hip/branches.py checks them. */
#include <gpubpf/probe.h>

#define PLACES 40

struct told {
	__u64 lanes, ids, line;    /* number of lanes, sums of their ids and of the branch's line */
	__u64 taken, taken_ids;    /* lanes that take the branch, sum of their ids */
	__u64 going, coming;       /* sums of the numbers of bits in the taken and in the active mask */
	__u64 wrong;               /* lanes that see an inconsistent mask */
};
struct places {
	struct told at[PLACES];
};
GPUBPF_ARRAY(places, struct places, 1);

static __u64 ones(__u64 v)
{
	v -= v >> 1 & 0x5555555555555555;
	v = (v & 0x3333333333333333) + (v >> 2 & 0x3333333333333333);
	return ((v + (v >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56;
}

SEC("gpu/branch/*")
int tell(struct gpubpf_ctx *ctx)
{
	struct places *p = bpf_map_lookup_elem(&places, &(__u32){ 0 });
	__u64 i = ctx->global_linear, lane = bpf_get_lane_id() & 63, taken = ctx->branch.taken;
	__u32 place = ctx->place;
	struct told *t;

	if (!p || place >= PLACES)
		return 0;
	t = &p->at[place];
	gpubpf_count(&t->lanes, 1);
	gpubpf_count(&t->ids, i);
	gpubpf_count(&t->line, ctx->line);
	gpubpf_count(&t->taken, taken);
	gpubpf_count(&t->taken_ids, taken ? i : 0);
	gpubpf_count(&t->going, ones(ctx->branch.lanes));
	gpubpf_count(&t->coming, ones(ctx->branch.active));
	gpubpf_count(&t->wrong, (ctx->branch.lanes >> lane & 1) != taken || !(ctx->branch.active >> lane & 1));
	return 0;
}
