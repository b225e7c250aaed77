/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread writes a record to each type of buffer that libbpf reads. */
#include "../../../core/load/ints.h"

#include <bpf/bpf_helpers.h>

struct record {
	__u64 number, kind;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 17);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} perf SEC(".maps");

__u64 numbers[2];

SEC("kprobe/cuda__step_one")
int cuda__enter(void *ctx)
{
	struct record *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r)
		return 0;
	r->number = __sync_fetch_and_add(&numbers[0], 1);
	r->kind = 1;
	bpf_ringbuf_submit(r, 0);
	return 0;
}

SEC("kretprobe/cuda__step_one")
int cuda__leave(void *ctx)
{
	struct record r = { __sync_fetch_and_add(&numbers[1], 1), 2 };

	bpf_perf_event_output(ctx, &perf, 0xffffffffull, &r, sizeof(r));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
