/* SPDX-License-Identifier: Apache-2.0 */
/* Counts exiting lanes per block in a hash map, with bpf_warp_match(). The lanes may have diverged. */
#include <gpubpf/probe.h>

GPUBPF_HASH(alike, __u64, __u64, 1024);

SEC("gpu/exit/*")
int matched(struct gpubpf_ctx *ctx)
{
	__u64 own = 1ull << bpf_get_lane_id(), key = gpubpf_block_linear(ctx) % 64, none = 0;
	__u64 like = bpf_warp_match(ctx->thread_idx[0] / 3);
	__u64 *n = bpf_map_lookup_elem(&alike, &key);

	if (!n) {
		bpf_map_update_elem(&alike, &key, &none, BPF_NOEXIST);
		n = bpf_map_lookup_elem(&alike, &key);
	}
	if (n && (like & own))
		gpubpf_count(n, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
