/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Map and memory are known only at run time. The code selects the map with a switch, and the memory with a pointer
 * comparison.
 */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(even, __u64, 4);
GPUBPF_HASH(odd, __u32, __u64, 16);
GPUBPF_ARRAY(out, __u64, 4);

SEC("gpu/entry/*")
int any_map(struct gpubpf_ctx *ctx)
{
	__u64 local = 5, *from = &local, *value;
	__u32 key = ctx->block_idx[0] & 3;
	void *map = ctx->thread_idx[0] & 1 ? (void *)&odd : (void *)&even;

	value = bpf_map_lookup_elem(map, &key);
	if (value)
		from = value;
	asm volatile("" : "+r"(from));
	bpf_map_update_elem(&out, &key, from, BPF_ANY);
	return 0;
}
