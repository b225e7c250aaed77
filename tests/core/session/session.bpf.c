/* SPDX-License-Identifier: Apache-2.0 */
/* Maps and programs for the tests of the session: each feature that they check occurs once. */
#include <gpubpf/probe.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} split SEC(".maps");

__u64 hits = 7;

SEC("gpu/entry/*")
int count(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&counts, 0, 1);
	__sync_fetch_and_add(&hits, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
