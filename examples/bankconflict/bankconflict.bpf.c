/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the rounds that shared memory (local memory in OpenCL) needs to serve one access of a warp. It has 32 banks of
 * 4 bytes. In a round, each bank serves one word.
 *
 * For accesses of 8 bytes, each half of a warp is served separately, and words have 8 bytes. For accesses of 16 bytes,
 * each quarter is served separately, and words have 16 bytes.
 */
#include <gpubpf/probe.h>

#define BANK 4
#define ROUND 128 /* bytes served in one round: one word of each bank */

struct access {
	gpubpf_kernel kernel;
	__u32 place; /* number of the access in its function, counted in code order */
	__u32 line;  /* source line, 0: unknown */
	__u64 kind;  /* 1 load, 2 store, 3 atomic */
};
struct GPUBPF_ROW rounds {
	/* needed: number of rounds without bank conflicts; rounds: number of rounds with them */
	__u64 needed, rounds, lanes;
};
GPUBPF_HASH(accesses, struct access, struct rounds, 4096);

static __always_inline struct rounds *find_or_create(struct access *key)
{
	struct rounds *r = bpf_map_lookup_elem(&accesses, key), none = {};

	if (r)
		return r;
	bpf_map_update_elem(&accesses, key, &none, BPF_NOEXIST); /* fails harmlessly if another lane inserts it first */
	return bpf_map_lookup_elem(&accesses, key);
}

/*
 * Returns the maximum of n, which is below 64, over the lanes in the mask `those`. All these lanes execute this
 * function.
 */
static __always_inline __u64 largest(__u64 those, __u64 n)
{
	__u64 most = 0;

#pragma unroll
	for (int bit = 5; bit >= 0; bit--)
		if (bpf_warp_ballot(n >= (most | 1 << bit)) & those)
			most |= 1 << bit;
	return most;
}

SEC("gpu/mem.shared/*")
int access(struct gpubpf_ctx *ctx)
{
	__u64 lane = bpf_get_lane_id(), below = (1ull << lane) - 1;
	__u64 width = ctx->mem.bytes > 8 ? 16 : ctx->mem.bytes > BANK ? 8 : BANK, part = lane / (ROUND / width);
	__u64 word = ctx->mem.offset / width, bank = word % (ROUND / width);
	struct access key = { gpubpf_kernel_of(ctx), ctx->place, ctx->line, ctx->mem.access };
	__u64 together = bpf_warp_match(part); /* mask of the lanes that are served together */
	__u64 firsts = bpf_warp_ballot(!(bpf_warp_match(word << 8 | part) & below)); /* mask of one lane per word */
	__u64 words = __builtin_popcountll(bpf_warp_match(bank << 8 | part) & firsts);
	/* The first lane adds the numbers of the group. The other lanes add 0, so that the probe does not diverge. */
	__u64 first = !(together & below), rounds = first * largest(together, words);
	struct rounds *r = find_or_create(&key);

	if (!r)
		return 0;
	gpubpf_count(&r->needed, first);
	gpubpf_count(&r->rounds, rounds);
	gpubpf_count(&r->lanes, first * __builtin_popcountll(together));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
