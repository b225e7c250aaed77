/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the threads of all kernels: element 0 at their entry, element 1 at their exit. */
#include <gpubpf/probe.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} threads SEC(".maps");

static __always_inline int count(__u32 slot)
{
	__u64 *n = bpf_map_lookup_elem(&threads, &slot);

	if (n)
		__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
	return 0;
}

SEC("gpu/entry/*")
int entered(struct gpubpf_ctx *ctx)
{
	return count(0);
}

SEC("gpu/exit/*")
int left(struct gpubpf_ctx *ctx)
{
	return count(1);
}

char LICENSE[] SEC("license") = "GPL";
