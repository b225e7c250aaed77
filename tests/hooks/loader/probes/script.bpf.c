/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that script.c loads as uprobes of the host function step_one(). In a session they attach to the GPU kernel
 * step_one.
 */
#include "../../../core/load/ints.h"

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} split SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

const volatile __u64 step = 1;
__u64 total;

static __always_inline void add(void *map, __u32 key, __u64 n)
{
	__u64 *value = bpf_map_lookup_elem(map, &key);

	if (value)
		__sync_fetch_and_add(value, n);
}

SEC("uprobe")
int enter(void *ctx)
{
	__u64 event = 7;

	add(&counts, 0, 1);
	add(&seen, 2, step);
	add(&split, 0, 1);
	__sync_fetch_and_add(&total, step);
	bpf_ringbuf_output(&events, &event, sizeof(event), 0);
	return 0;
}

SEC("uretprobe")
int leave(void *ctx)
{
	add(&counts, 1, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
