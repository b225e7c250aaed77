/* SPDX-License-Identifier: Apache-2.0 */
/* For each store, sums of lane masks over the active lanes of a wave; tests/backends/hip/lanes.py checks them. */
#include <gpubpf/probe.h>

#define PLACES 8

struct told {
	__u64 lanes, here, odd, like; /* number of lanes; sums of the numbers of active, odd and matching lanes */
	__u64 masks[3];               /* sums of the masks of active, odd and matching lanes */
	__u64 first;                  /* lanes without a matching lane of lower number */
};
struct places {
	struct told at[PLACES];
};
GPUBPF_ARRAY(places, struct places, 1);

SEC("gpu/mem/*")
int tell(struct gpubpf_ctx *ctx)
{
	__u64 i = ctx->global_linear, here = bpf_warp_ballot(1), odd = bpf_warp_ballot(i & 1);
	__u64 like = bpf_warp_match((i / 5) << 32 | i / 5); /* the comparison must cover both halves */
	struct places *p = bpf_map_lookup_elem(&places, &(__u32){ 0 });
	__u32 place = ctx->place;
	struct told *t;

	if (!p || place >= PLACES || ctx->mem.access != GPUBPF_STORE)
		return 0;
	t = &p->at[place];
	gpubpf_count(&t->lanes, 1);
	gpubpf_count(&t->here, __builtin_popcountll(here));
	gpubpf_count(&t->odd, __builtin_popcountll(odd));
	gpubpf_count(&t->like, __builtin_popcountll(like));
	gpubpf_count(&t->masks[0], here);
	gpubpf_count(&t->masks[1], odd);
	gpubpf_count(&t->masks[2], like);
	gpubpf_count(&t->first, !(like & ((1ull << bpf_get_lane_id()) - 1)));
	return 0;
}
