/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps of all types that have their own memory layout. 1024 threads must get the same results wherever the maps are
 * placed.
 */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(counts, __u64, 64);
GPUBPF_HASH(keys, __u64, __u64, 1024);
GPUBPF_PER_THREAD(threads, __u64);

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} recent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 65536);
	__type(value, __u64);
} queue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_GPU_ARRAY_HOST);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} written SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, GPUBPF_F_DEVICE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} asked SEC(".maps");

__u64 total = 5;

SEC("gpu/exit/*") int at(struct gpubpf_ctx *ctx)
{
	__u64 id = ctx->global_linear, key = id & 63, one = 1, *v;
	__u32 index = id & 63, zero = 0, slot = id & 1023;

	v = bpf_map_lookup_elem(&counts, &index);
	if (v)
		__sync_fetch_and_add(v, id);
	v = bpf_map_lookup_elem(&keys, &key);
	if (!v) {
		bpf_map_update_elem(&keys, &key, &(__u64){ 0 }, BPF_NOEXIST);
		v = bpf_map_lookup_elem(&keys, &key);
	}
	if (v)
		__sync_fetch_and_add(v, 1);
	v = bpf_map_lookup_elem(&threads, &zero);
	if (v)
		*v += id;
	bpf_map_update_elem(&recent, &id, &one, BPF_ANY);
	bpf_map_push_elem(&queue, &id, BPF_ANY);
	v = bpf_map_lookup_elem(&written, &slot);
	if (v)
		*v = id;
	v = bpf_map_lookup_elem(&asked, &zero);
	if (v)
		__sync_fetch_and_add(v, 1);
	__sync_fetch_and_add(&total, 1);
	return 0;
}

char _license[] SEC("license") = "GPL";
