/* SPDX-License-Identifier: Apache-2.0 */
/*
 * *p += x must not lose an update, so it becomes an atomic add, except on a per-thread value. The two additional adds
 * count threads for which a per-thread map has no value.
 */
#include <gpubpf/probe.h>

GPUBPF_MAP(per_cpu, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, 4);
GPUBPF_MAP(per_cpu4, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u32, 4);
GPUBPF_PER_THREAD(own, __u64);

SEC("gpu/entry/*")
int add(struct gpubpf_ctx *ctx)
{
	__u64 *value;
	__u32 key = 1, *value4;

	value = bpf_map_lookup_elem(&per_cpu, &key);
	if (value)
		*value += ctx->thread_idx[0];
	value4 = bpf_map_lookup_elem(&per_cpu4, &key);
	if (value4)
		*value4 += 3;
	return 0;
}

SEC("gpu/exit/*")
int own_add(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	__u64 *value = bpf_map_lookup_elem(&own, &key);

	if (value)
		*value += ctx->thread_idx[0];
	return 0;
}
