/* SPDX-License-Identifier: Apache-2.0 */
/* A program that tail-calls other programs and looks up elements of inner maps. The loader fills all these maps. */
#include "../../../core/load/ints.h"

#include <bpf/bpf_helpers.h>

struct count {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} first SEC(".maps");

struct {
	__uint(type, 12 /* BPF_MAP_TYPE_ARRAY_OF_MAPS */);
	__uint(max_entries, 3);
	__type(key, __u32);
	__array(values, struct count);
} listed SEC(".maps") = { .values = { [0] = &first } };

struct {
	__uint(type, 13 /* BPF_MAP_TYPE_HASH_OF_MAPS */);
	__uint(max_entries, 8);
	__type(key, __u64);
	__array(values, struct count);
} keyed SEC(".maps");

int cuda__one(void *ctx);

struct {
	__uint(type, 3 /* BPF_MAP_TYPE_PROG_ARRAY */);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, int (void *));
} jumps SEC(".maps") = { .values = { [1] = (void *)&cuda__one } };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} came SEC(".maps");

static __always_inline void add(void *map, __u32 key, __u64 n)
{
	__u64 *value = bpf_map_lookup_elem(map, &key);

	if (value)
		__sync_fetch_and_add(value, n);
}

static __always_inline void add_listed(__u32 at)
{
	void *inner = bpf_map_lookup_elem(&listed, &at);

	if (inner)
		add(inner, 0, 1);
}

SEC("kprobe/step_one")
int cuda__enter(void *ctx)
{
	__u64 seven = 7;
	void *inner;

	add_listed(0);
	add_listed(1);
	add_listed(2);
	inner = bpf_map_lookup_elem(&keyed, &seven);
	if (inner)
		add(inner, 0, 100);
	bpf_tail_call(ctx, &jumps, 1);
	add(&came, 0, 1);
	return 0;
}

SEC("kprobe/nowhere")
int cuda__one(void *ctx)
{
	add(&came, 1, 1);
	bpf_tail_call(ctx, &jumps, 2);
	return 0;
}

SEC("kprobe/nowhere")
int cuda__two(void *ctx)
{
	add(&came, 2, 1);
	return 0;
}

SEC("kprobe/nowhere")
int cuda__three(void *ctx)
{
	add(&came, 3, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
