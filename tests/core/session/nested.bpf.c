/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of maps whose inner maps have the type of session.bpf.c's counts, and a program array. */
#include <gpubpf/probe.h>

struct element {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} first SEC(".maps"), second SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct element);
} slots SEC(".maps") = { .values = { &first, &second } };

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct element);
} keyed SEC(".maps") = { .values = { &first } };

int one(void *ctx), two(void *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, int(void *));
} jumps SEC(".maps") = { .values = { (void *)&one } };

SEC("gpu/entry")
int one(void *ctx)
{
	return 1;
}

SEC("gpu/entry")
int two(void *ctx)
{
	return 2;
}

SEC("gpu/entry/nested_*")
int nest(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	void *inner = bpf_map_lookup_elem(&slots, &key);
	__u64 *n = inner ? bpf_map_lookup_elem(inner, &key) : NULL;

	if (n)
		__sync_fetch_and_add(n, 1);
	bpf_tail_call(ctx, &jumps, 0);
	return bpf_map_lookup_elem(&keyed, &key) != NULL;
}
