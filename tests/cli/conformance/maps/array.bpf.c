/* SPDX-License-Identifier: Apache-2.0 */
/* ARRAY in one thread: look-ups and updates, and every error that they can return. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 10");
EXPECT("map values[3] 7");
EXPECT("map values[0] 0");

GPUBPF_ARRAY(values, __u64, 4);

SEC("gpu/entry/*")
int array(struct gpubpf_ctx *ctx)
{
	__u32 key = 3, past = 4, far = 0x80000000;
	__u64 seven = 7, *value;

	value = bpf_map_lookup_elem(&values, &key);
	CHECK(value != 0, 1);
	CHECK(value ? *value : 1, 0);
	CHECK(bpf_map_update_elem(&values, &key, &seven, BPF_ANY), 0);
	CHECK(value ? *(volatile __u64 *)value : 0, 7);
	CHECK(bpf_map_update_elem(&values, &key, &seven, BPF_EXIST), 0);
	CHECK(bpf_map_update_elem(&values, &key, &seven, BPF_NOEXIST), (__u64)-17);
	CHECK(bpf_map_update_elem(&values, &past, &seven, BPF_ANY), (__u64)-7);
	CHECK(bpf_map_lookup_elem(&values, &past) == 0, 1);
	CHECK(bpf_map_lookup_elem(&values, &far) == 0, 1);
	CHECK(bpf_map_delete_elem(&values, &key), (__u64)-22);
	return 0;
}
