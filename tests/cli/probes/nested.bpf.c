/* SPDX-License-Identifier: Apache-2.0 */
/* Counts in an inner map, which the user replaces in the map of maps. */
#include <gpubpf/probe.h>

struct counts {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} first SEC(".maps"), second SEC(".maps");

GPUBPF_ARRAY(wide, __u64, 2);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct counts);
} slots SEC(".maps") = { .values = { &first } };

SEC("gpu/entry/step_*")
int count(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	void *inner = bpf_map_lookup_elem(&slots, &key);
	__u64 *n = inner ? bpf_map_lookup_elem(inner, &key) : NULL;

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}
