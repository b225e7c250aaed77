/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts for each access of global memory the 32-byte sectors that the lanes of a warp touch together. Fewer sectors
 * mean less memory traffic. The efficiency of an access is the share of the traffic that lanes requested: bytes / (32 *
 * sectors).
 */
#include <gpubpf/probe.h>

#define SECTOR 32

struct access {
	gpubpf_kernel kernel;
	__u32 place; /* number of the access in its function, counted in code order */
	__u32 line;  /* source line, 0: unknown */
	__u64 kind;  /* 1 load, 2 store, 3 atomic, 4 prefetch */
};
struct GPUBPF_ROW moved {
	__u64 sectors, bytes, warps, lanes;
};
GPUBPF_HASH(accesses, struct access, struct moved, 4096);

static __always_inline struct moved *find_or_create(struct access *key)
{
	struct moved *m = bpf_map_lookup_elem(&accesses, key), none = {};

	if (m)
		return m;
	bpf_map_update_elem(&accesses, key, &none, BPF_NOEXIST); /* fails harmlessly if another lane inserts it first */
	return bpf_map_lookup_elem(&accesses, key);
}

SEC("gpu/mem/*")
int access(struct gpubpf_ctx *ctx)
{
	__u64 below = (1ull << bpf_get_lane_id()) - 1, bytes = ctx->mem.bytes;
	__u64 active = bpf_warp_ballot(1), first = bpf_warp_ballot(!(bpf_warp_match(ctx->mem.addr / SECTOR) & below));
	struct access key = { gpubpf_kernel_of(ctx), ctx->place, ctx->line, ctx->mem.access };
	__u64 lanes = __builtin_popcountll(active), sectors = __builtin_popcountll(first);
	struct moved *m;

	if (active & below)
		return 0; /* only the first active lane of a warp counts */
	m = find_or_create(&key);
	if (!m)
		return 0;
	gpubpf_count(&m->sectors, bytes > SECTOR ? lanes * bytes / SECTOR : sectors);
	gpubpf_count(&m->bytes, lanes * bytes);
	gpubpf_count(&m->warps, 1);
	gpubpf_count(&m->lanes, lanes);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
