/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the lanes that execute and that take each branch, and lane masks that contradict the lane that reads
 * them. Two more programs detect divergence, one by comparing the masks and one by counting bits; both must add 0. */
#include <gpubpf/probe.h>

struct seen {
	__u64 executed, taken, wrong;
};
GPUBPF_ARRAY(branches, struct seen, 1);

SEC("gpu/branch/*")
int branch(struct gpubpf_ctx *ctx)
{
	__u64 self = 1ull << (bpf_get_lane_id() & 63), lanes = ctx->branch.lanes, active = ctx->branch.active;
	struct seen *seen = bpf_map_lookup_elem(&branches, &(__u32){ 0 });

	if (!seen)
		return 0;
	__atomic_fetch_add(&seen->executed, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&seen->taken, ctx->branch.taken, __ATOMIC_RELAXED);
	if (!(active & self) || lanes & ~active || !(lanes & self) != !ctx->branch.taken)
		__atomic_fetch_add(&seen->wrong, 1, __ATOMIC_RELAXED);
	return 0;
}

SEC("gpu/branch/*")
int part(struct gpubpf_ctx *ctx)
{
	__u64 lanes = ctx->branch.lanes;
	struct seen *seen = bpf_map_lookup_elem(&branches, &(__u32){ 0 });

	if (seen)
		gpubpf_count(&seen->wrong, lanes && lanes != ctx->branch.active);
	return 0;
}

SEC("gpu/branch/*")
int part_by_number(struct gpubpf_ctx *ctx)
{
	int take = __builtin_popcountll(ctx->branch.lanes), come = __builtin_popcountll(ctx->branch.active);
	struct seen *seen = bpf_map_lookup_elem(&branches, &(__u32){ 0 });

	if (seen)
		gpubpf_count(&seen->wrong, -(__u64)(take > 0 && take < come));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
