/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Map types that use bpftime's type numbers: a hash table, two arrays that all threads share, and an array per thread.
 */
#include "../case.h"

EXPECT("launch 2,1,1 32,1,1");
EXPECT("checks 384");
EXPECT("entries table 64");
EXPECT("map table[0] 1");
EXPECT("map table[63] 64");
EXPECT("map shared[0] 64");
EXPECT("map values[63] 64");

GPUBPF_MAP(table, BPF_MAP_TYPE_GPU_HASH, __u64, __u64, 64);
GPUBPF_MAP(shared, BPF_MAP_TYPE_GPU_KERNEL_SHARED_ARRAY, __u32, __u64, 1);
GPUBPF_MAP(own, BPF_MAP_TYPE_GPU_PERTHREAD_ARRAY_HOST, __u32, __u64, 1);
GPUBPF_MAP(values, BPF_MAP_TYPE_GPU_ARRAY_HOST, __u32, __u64, 64);

SEC("gpu/entry/*")
int kinds(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->global_linear, value = me + 1, *found;
	__u32 key = me, zero = 0;

	CHECK(bpf_map_update_elem(&table, &me, &value, BPF_NOEXIST), 0);
	found = bpf_map_lookup_elem(&table, &me);
	CHECK(found ? *found : 0, me + 1);
	found = bpf_map_lookup_elem(&shared, &zero);
	if (found)
		__sync_fetch_and_add(found, 1);
	found = bpf_map_lookup_elem(&own, &zero);
	CHECK(found ? *found : 1, 0);
	if (found)
		*found = me;
	found = bpf_map_lookup_elem(&own, &zero);
	CHECK(found ? *found : 0, me);
	CHECK(bpf_map_update_elem(&values, &key, &value, BPF_ANY), 0);
	found = bpf_map_lookup_elem(&values, &key);
	CHECK(found ? *found : 0, me + 1);
	return 0;
}
