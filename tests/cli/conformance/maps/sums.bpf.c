/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters that all threads add to. Relaxed additions may use a replica per multiprocessor; additions with fetch do
 * not.
 */
#include "../case.h"

EXPECT("launch 16,1,1 64,1,1");
EXPECT("map relaxed[0] 1024");
EXPECT("map relaxed[1] 523776"); /* 0 + 1 + ... + 1023 */
EXPECT("map fetched[0] 1024");
EXPECT("map narrow[0] 1024");

GPUBPF_ARRAY(relaxed, __u64, 2);
GPUBPF_ARRAY(fetched, __u64, 1);
GPUBPF_ARRAY(narrow, __u32, 1);

SEC("gpu/entry/*")
int sums(struct gpubpf_ctx *ctx)
{
	__u32 key = 0, *small = bpf_map_lookup_elem(&narrow, &key);
	__u64 *one = bpf_map_lookup_elem(&fetched, &key);

	gpubpf_add(&relaxed, 0, 1);
	gpubpf_add(&relaxed, 1, ctx->global_linear);
	if (one)
		gpubpf_fetch_add(one, 1);
	if (small)
		gpubpf_count(small, 1);
	return 0;
}
