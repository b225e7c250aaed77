/* SPDX-License-Identifier: Apache-2.0 */
/* HASH by one thread: what is found, every error, and room that comes back. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 15");
EXPECT("entries table 2");
EXPECT("map table[2] 20");
EXPECT("map table[3] 30");
EXPECT("map table[1] -");
EXPECT("drops table 1");

GPUBPF_HASH(table, __u64, __u64, 2);

SEC("gpu/entry/*")
int hash(struct gpubpf_ctx *ctx)
{
	__u64 one = 1, two = 2, three = 3, value = 10, *found;

	CHECK(bpf_map_lookup_elem(&table, &one) == 0, 1);
	CHECK(bpf_map_delete_elem(&table, &one), (__u64)-2);
	CHECK(bpf_map_update_elem(&table, &one, &value, BPF_EXIST), (__u64)-2);
	CHECK(bpf_map_update_elem(&table, &one, &value, BPF_NOEXIST), 0);
	CHECK(bpf_map_update_elem(&table, &one, &value, BPF_NOEXIST), (__u64)-17);
	CHECK(bpf_map_update_elem(&table, &one, &value, BPF_EXIST), 0);
	value = 20;
	CHECK(bpf_map_update_elem(&table, &two, &value, BPF_ANY), 0);
	value = 30;
	CHECK(bpf_map_update_elem(&table, &three, &value, BPF_ANY), (__u64)-7);
	CHECK(bpf_map_lookup_elem(&table, &three) == 0, 1);
	found = bpf_map_lookup_elem(&table, &one);
	CHECK(found != 0, 1);
	CHECK(found ? *found : 0, 10);
	CHECK(bpf_map_delete_elem(&table, &one), 0);
	CHECK(bpf_map_lookup_elem(&table, &one) == 0, 1);
	CHECK(bpf_map_update_elem(&table, &three, &value, BPF_ANY), 0);
	found = bpf_map_lookup_elem(&table, &three);
	CHECK(found ? *found : 0, 30);
	return 0;
}
