/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads look up inner maps. Neighbours get different inner maps or none; threads that get the same inner map
 * share it.
 */
#include "../../case.h"

EXPECT("launch 8,1,1 64,1,1");
EXPECT("checks 1664");
EXPECT("map first[0] 64");
EXPECT("map first[2] 64");
EXPECT("map second[1] 32");
EXPECT("entries table 256");

struct inner_array {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} first SEC(".maps"), second SEC(".maps");

struct inner_table {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512);
	__type(key, __u64);
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
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct inner_table);
} tables SEC(".maps") = { .values = { [1] = &table } };

SEC("gpu/entry/*")
int together(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->global_linear, *value;
	__u32 at = me & 3, index = me >> 2 & 3, odd = me & 1;
	void *inner = bpf_map_lookup_elem(&arrays, &at);

	CHECK(inner != 0, at != 1);
	if (inner) {
		value = bpf_map_lookup_elem(inner, &index);
		CHECK(value != 0, index < 3);
		if (value)
			__sync_fetch_and_add(value, 1);
	}
	inner = bpf_map_lookup_elem(&tables, &odd);
	CHECK(inner != 0, odd);
	if (inner)
		CHECK(bpf_map_update_elem(inner, &me, &me, BPF_NOEXIST), 0);
	return 0;
}
