/* SPDX-License-Identifier: Apache-2.0 */
/* GPU_ARRAY: each thread accesses its own element; accesses past the last element fail. */
#include "../case.h"

EXPECT("launch 2,1,1 32,1,1");
EXPECT("checks 192");
EXPECT("map values[0] 1");
EXPECT("map values[63] 64");

GPUBPF_MAP(values, BPF_MAP_TYPE_GPU_ARRAY, __u32, __u64, 64);

SEC("gpu/entry/*")
int elements(struct gpubpf_ctx *ctx)
{
	__u32 key = ctx->global_linear, past = 64;
	__u64 value = key + 1ull, *found;

	CHECK(bpf_map_update_elem(&values, &key, &value, BPF_ANY), 0);
	found = bpf_map_lookup_elem(&values, &key);
	CHECK(found ? *found : 0, key + 1ull);
	CHECK(bpf_map_lookup_elem(&values, &past) == 0, 1);
	return 0;
}
