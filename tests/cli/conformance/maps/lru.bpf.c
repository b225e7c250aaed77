/* SPDX-License-Identifier: Apache-2.0 */
/* A full LRU_HASH evicts keys that were not used recently, never the newest key, and no insertion fails. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 22");
EXPECT("entries table 4");
EXPECT("entries percpu 4");
EXPECT("drops table 0");
EXPECT("drops percpu 0");

GPUBPF_MAP(table, BPF_MAP_TYPE_LRU_HASH, __u64, __u64, 4);
GPUBPF_MAP(percpu, BPF_MAP_TYPE_LRU_PERCPU_HASH, __u64, __u64, 4);

static __always_inline void fill(void *map)
{
	__u64 keys[6] = { 0, 1, 2, 3, 4, 5 }, value = 3, *found;

	CHECK(bpf_map_update_elem(map, &keys[0], &value, BPF_EXIST), -2);
	CHECK(bpf_map_update_elem(map, &keys[0], &value, BPF_NOEXIST), 0);
	CHECK(bpf_map_update_elem(map, &keys[0], &value, BPF_NOEXIST), -17);
	for (int i = 1; i < 4; i++)
		CHECK(bpf_map_update_elem(map, &keys[i], &value, BPF_ANY), 0);
	found = bpf_map_lookup_elem(map, &keys[0]);
	CHECK(found ? *found : 0, 3);
	CHECK(bpf_map_update_elem(map, &keys[4], &value, BPF_ANY), 0);
	CHECK(bpf_map_lookup_elem(map, &keys[0]) != NULL, 1);
	CHECK(bpf_map_lookup_elem(map, &keys[4]) != NULL, 1);
	CHECK(bpf_map_delete_elem(map, &keys[5]), -2);
}

SEC("gpu/entry/*")
int lru(struct gpubpf_ctx *ctx)
{
	fill(&table);
	fill(&percpu);
	return 0;
}
