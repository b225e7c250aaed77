/* SPDX-License-Identifier: Apache-2.0 */
/* Which branches split warps, and how many lanes wait there: of a warp that goes both ways the fewer ones are lost while the
 * others go on, and the others while they do. */
#include <gpubpf/probe.h>

struct branch {
	gpubpf_kernel kernel;
	__u32 place; /* number of the branch in its function, in the order of the code */
	__u32 line;  /* of the source, 0 unknown */
};
struct GPUBPF_ROW ways {
	__u64 warps, splits, lanes, taken, lost; /* lost: of each split the fewer lanes */
};
GPUBPF_HASH(branches, struct branch, struct ways, 4096);

static __always_inline struct ways *find_or_create(struct branch *key)
{
	struct ways *w = bpf_map_lookup_elem(&branches, key), none = {};

	if (w)
		return w;
	bpf_map_update_elem(&branches, key, &none, BPF_NOEXIST); /* another lane may be first: also fine */
	return bpf_map_lookup_elem(&branches, key);
}

SEC("gpu/branch/*")
int branch(struct gpubpf_ctx *ctx)
{
	__u64 active = bpf_warp_ballot(1), takes = bpf_warp_ballot(ctx->branch.taken);
	struct branch key = { gpubpf_kernel_of(ctx), ctx->place, ctx->line };
	__u64 lanes = __builtin_popcountll(active), taken = __builtin_popcountll(takes), others = lanes - taken;
	/* the first lane counts for its warp; the others add nothing, so that the probe parts no lanes */
	__u64 first = !(active & ((1ull << bpf_get_lane_id()) - 1));
	struct ways *w = find_or_create(&key);

	if (!w)
		return 0;
	gpubpf_count(&w->warps, first);
	gpubpf_count(&w->lanes, first * lanes);
	gpubpf_count(&w->taken, first * taken);
	gpubpf_count(&w->splits, first * (taken && others));
	gpubpf_count(&w->lost, first * (taken < others ? taken : others));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
