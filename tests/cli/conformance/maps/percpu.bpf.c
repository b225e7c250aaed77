/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PERCPU_ARRAY and PERCPU_HASH have a value for each multiprocessor. A lane reads its own writes, and PERCPU_HASH
 * returns its errors.
 */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 14");
EXPECT("entries table 2");
EXPECT("drops table 1");

GPUBPF_MAP(array, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, 2);
GPUBPF_MAP(table, BPF_MAP_TYPE_PERCPU_HASH, __u64, __u64, 2);

static __always_inline __u64 found(void *map, const void *key)
{
	__u64 *value = bpf_map_lookup_elem(map, key);

	return value ? *value : ~0ull;
}

SEC("gpu/entry/*")
int percpu(struct gpubpf_ctx *ctx)
{
	__u64 keys[4] = { 0, 1, 2, 3 }, value = 7;
	__u32 one = 1, past = 2;

	CHECK(found(&array, &one), 0);
	CHECK(bpf_map_update_elem(&array, &one, &value, BPF_NOEXIST), -17);
	CHECK(bpf_map_update_elem(&array, &one, &value, BPF_ANY), 0);
	CHECK(found(&array, &one), 7);
	CHECK(bpf_map_update_elem(&array, &past, &value, BPF_ANY), -7);
	CHECK(bpf_map_delete_elem(&array, &one), -22);
	CHECK(bpf_map_update_elem(&table, &keys[0], &value, BPF_EXIST), -2);
	CHECK(bpf_map_update_elem(&table, &keys[0], &value, BPF_NOEXIST), 0);
	CHECK(bpf_map_update_elem(&table, &keys[1], &value, BPF_ANY), 0);
	CHECK(bpf_map_update_elem(&table, &keys[2], &value, BPF_ANY), -7);
	CHECK(found(&table, &keys[1]), 7);
	CHECK(bpf_map_delete_elem(&table, &keys[0]), 0);
	CHECK(found(&table, &keys[0]), ~0ull);
	CHECK(bpf_map_update_elem(&table, &keys[3], &value, BPF_ANY), 0);
	return 0;
}
