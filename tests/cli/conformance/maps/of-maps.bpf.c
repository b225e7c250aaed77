/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ARRAY_OF_MAPS and HASH_OF_MAPS in one thread: present and absent inner maps, which the program also accesses by name.
 */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 23");
EXPECT("map first[1] 40");
EXPECT("map second[1] 2");
EXPECT("map table[7] 9");

struct inner_array {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} first SEC(".maps"), second SEC(".maps");

struct inner_table {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 5);
	__type(key, __u32);
	__type(value, __u64);
} table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, struct inner_array);
} arrays SEC(".maps") = { .values = { [0] = &first, [2] = &second, [3] = &first } };

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 8);
	__type(key, __u32);
	__array(values, struct inner_table);
} tables SEC(".maps") = { .values = { [3] = &table } };

/* an outer map without inner maps; no other map has the type of its prototype */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_QUEUE);
		__uint(max_entries, 3);
		__type(value, __u64);
	});
} queues SEC(".maps");

static __always_inline void add(__u32 at, __u32 index, __u64 n, int there)
{
	void *inner = bpf_map_lookup_elem(&arrays, &at);
	__u64 *value;

	CHECK(inner != 0, there);
	if (!inner)
		return;
	value = bpf_map_lookup_elem(inner, &index);
	CHECK(value != 0, index < 3);
	if (value)
		__sync_fetch_and_add(value, n);
}

SEC("gpu/entry/*")
int of_maps(struct gpubpf_ctx *ctx)
{
	__u32 key = 3, none = 0, seven = 7, eight = 8, one = 1;
	__u64 nine = 9, *value;
	void *inner;

	add(0, 1, 30, 1);
	add(1, 1, 1000, 0);
	add(2, 1, 2, 1);
	add(3, 1, 10, 1);
	add(3, 3, 10, 1);
	add(4, 0, 1000, 0);
	value = bpf_map_lookup_elem(&first, &one);
	CHECK(value ? *(volatile __u64 *)value : 0, 40);
	CHECK(bpf_map_lookup_elem(&tables, &none) == 0, 1);
	CHECK(bpf_map_lookup_elem(&queues, &none) == 0, 1);
	inner = bpf_map_lookup_elem(&tables, &key);
	CHECK(inner != 0, 1);
	if (!inner)
		return 0;
	CHECK(bpf_map_lookup_elem(inner, &seven) == 0, 1);
	CHECK(bpf_map_update_elem(inner, &seven, &nine, BPF_EXIST), (__u64)-2);
	CHECK(bpf_map_update_elem(inner, &seven, &nine, BPF_NOEXIST), 0);
	CHECK(bpf_map_update_elem(inner, &eight, &nine, BPF_ANY), 0);
	CHECK(bpf_map_delete_elem(inner, &eight), 0);
	CHECK(bpf_map_delete_elem(inner, &eight), (__u64)-2);
	value = bpf_map_lookup_elem(inner, &seven);
	CHECK(value ? *value : 0, 9);
	value = bpf_map_lookup_elem(&table, &seven);
	CHECK(value ? *value : 0, 9);
	CHECK(bpf_map_lookup_elem(&table, &eight) == 0, 1);
	inner = bpf_map_lookup_elem(&queues, &none);
	if (inner)
		bpf_map_push_elem(inner, &nine, 0);
	return 0;
}
