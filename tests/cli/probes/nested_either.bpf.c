/* SPDX-License-Identifier: Apache-2.0 */
/* One helper call gets either an inner map or a map that the program names. */
#include <gpubpf/probe.h>

struct counts {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} first SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct counts);
} slots SEC(".maps");

SEC("gpu/entry/step_*")
int either(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	void *inner = bpf_map_lookup_elem(&slots, &key);

	if (!inner)
		inner = &first;
	return bpf_map_lookup_elem(inner, &key) != NULL;
}
