/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs for a libbpf loader, at places of a GPU kernel and at a function of the Linux kernel, with all kinds of
 * global data.
 */
#include "../../../core/load/ints.h"

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} split SEC(".maps");

const volatile __u64 step = 1;
__u64 total;

SEC("kprobe/cuda__step_one")
int cuda__enter(void *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&counts, &key), one = 1;

	if (n)
		__sync_fetch_and_add(n, step);
	bpf_map_update_elem(&seen, &key, &one, BPF_ANY);
	__sync_fetch_and_add(&total, 1);
	return 0;
}

SEC("kretprobe/step_one")
int cuda__leave_with_a_long_name(void *ctx)
{
	__u32 key = 1;
	__u64 *n = bpf_map_lookup_elem(&counts, &key), value;

	if (n)
		__sync_fetch_and_add(n, 1);
	key = 0;
	/* read, add and update, as bpftrace counts: no update of a CPU's value may be lost */
	n = bpf_map_lookup_elem(&split, &key);
	value = n ? *n + 1 : 1;
	bpf_map_update_elem(&split, &key, &value, BPF_ANY);
	return 0;
}

SEC("?kprobe/step_one")
int cuda__refused(void *ctx)
{
	__u32 key = 0;
	__u64 *n = bpf_map_lookup_elem(&counts, &key);

	return n ? n[8] : 0;
}

char LICENSE[] SEC("license") = "GPL";
