/* SPDX-License-Identifier: Apache-2.0 */
/* A map of maps and its inner array, which programs of the Linux kernel and of the GPU both use. */
#include <gpubpf/probe.h>

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} element SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct inner);
} elements SEC(".maps") = { .values = { &element } };

static __always_inline int add(void)
{
	__u32 zero = 0;
	void *inner = bpf_map_lookup_elem(&elements, &zero);
	__u64 *value = inner ? bpf_map_lookup_elem(inner, &zero) : 0;

	if (value)
		__sync_fetch_and_add(value, 1);
	return 0;
}

SEC("uprobe") int on_host(void *ctx) { return add(); }
SEC("gpu/exit/step_*") int on_gpu(struct gpubpf_ctx *ctx) { return add(); }
