/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_for_each_map_elem() (helper 164) on an inner map that a look-up in an outer map returned: an array and a hash
 * table.
 */
#include "each.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 12");

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
} few SEC(".maps"), many SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct inner_array);
} arrays SEC(".maps") = { .values = { [0] = &first, [1] = &second } };

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, struct inner_table);
} tables SEC(".maps") = { .values = { [0] = &few, [1] = &many } };

/* The callback's map argument is the inner map. An update through this argument changes that inner map only. */
static __always_inline long of_element(void *map, __u32 *key, __u64 *value, struct seen *seen)
{
	__u64 more = *value + 1;

	bpf_map_update_elem(map, key, &more, BPF_EXIST);
	return note(seen, *key, *value);
}

static long of_array(void *map, __u32 *key, __u64 *value, struct seen *seen)
{
	return of_element(map, key, value, seen);
}

static long of_table(void *map, __u32 *key, __u64 *value, struct seen *seen)
{
	return of_element(map, key, value, seen);
}

static __always_inline void put(void *map, __u32 n, __u64 from)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < n; i++) {
		__u64 value = from + i;

		bpf_map_update_elem(map, &i, &value, BPF_ANY);
	}
}

SEC("gpu/entry/*")
int each_of_maps(struct gpubpf_ctx *ctx)
{
	put(&second, 3, 10);
	put(&few, 2, 100);
	put(&many, 5, 1000);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < 2; i++) {
		void *array = bpf_map_lookup_elem(&arrays, &i), *table = bpf_map_lookup_elem(&tables, &i);
		struct seen seen = { .until = 100 }, in = { .until = 100 };

		if (!array || !table)
			continue;
		CHECK(bpf_for_each_map_elem(array, of_array, &seen, 0), 3);
		CHECK(seen.keys, 3);
		CHECK(seen.values, i ? 36 : 3);
		CHECK(bpf_for_each_map_elem(table, of_table, &in, 0), i ? 5 : 2);
		CHECK(in.keys, i ? 10 : 1);
		CHECK(in.values, i ? 5015 : 203);
	}
	return 0;
}
