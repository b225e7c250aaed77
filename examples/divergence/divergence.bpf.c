/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows which branches split warps, and how many lanes idle there. If some lanes of a warp take a branch and others do
 * not, each part idles while the other executes. The probe counts the lanes of the smaller part as lost.
 */
#include <gpubpf/probe.h>

struct branch {
	gpubpf_kernel kernel;
	__u32 place; /* number of the branch in its function, counted in code order */
	__u32 line;  /* source line, 0: unknown */
};
struct GPUBPF_ROW ways {
	__u64 warps, splits, lanes, taken, lost; /* lost: sum of the lanes in the smaller part of each split */
};
GPUBPF_HASH(branches, struct branch, struct ways, 4096);

static __always_inline struct ways *find_or_create(struct branch *key)
{
	struct ways *w = bpf_map_lookup_elem(&branches, key), none = {};

	if (w)
		return w;
	bpf_map_update_elem(&branches, key, &none, BPF_NOEXIST); /* fails harmlessly if another lane inserts it first */
	return bpf_map_lookup_elem(&branches, key);
}

SEC("gpu/branch/*")
int branch(struct gpubpf_ctx *ctx)
{
	__u64 active = bpf_warp_ballot(1), takes = bpf_warp_ballot(ctx->branch.taken);
	struct branch key = { gpubpf_kernel_of(ctx), ctx->place, ctx->line };
	__u64 lanes = __builtin_popcountll(active), taken = __builtin_popcountll(takes), others = lanes - taken;
	/* The first lane adds the numbers of its warp. The other lanes add 0, so that the probe does not diverge. */
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
