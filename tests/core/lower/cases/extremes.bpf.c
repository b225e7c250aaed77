/* SPDX-License-Identifier: Apache-2.0 */
/* Maxima and minima of words in a replicated array, a hash table and global data. */
#include <gpubpf/probe.h>

struct times {
	gpubpf_minimum first;
	__u64 last;
};
GPUBPF_ARRAY(times, struct times, 16);
GPUBPF_HASH(by_thread, __u32, __u64, 64);
__u64 largest;

SEC("gpu/entry/*")
int take_extremes(struct gpubpf_ctx *ctx)
{
	__u32 key = ctx->thread_idx[0] & 15;
	struct times *at = bpf_map_lookup_elem(&times, &key);
	__u64 *word = bpf_map_lookup_elem(&by_thread, &key);

	if (at) {
		gpubpf_atomic_min(&at->first, ctx->global_linear);
		gpubpf_atomic_max(&at->last, ctx->global_linear);
	}
	if (word)
		gpubpf_atomic_max(word, 7);
	gpubpf_atomic_max(&largest, ctx->block_idx[0]);
	return 0;
}
