/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring buffers: output from the stack and from map memory, reservation, bpf_ringbuf_query(), bpf_perf_event_output().
 */
#include <gpubpf/probe.h>

struct event {
	__u64 when, who;
	char text[16];
};

GPUBPF_RINGBUF(ring, struct event, 1 << 16);
GPUBPF_MAP(records, BPF_MAP_TYPE_GPU_RINGBUF, __u32, struct event, 64);
GPUBPF_ARRAY(last, struct event, 1);
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} perf SEC(".maps");

SEC("gpu/entry/*")
int output(struct gpubpf_ctx *ctx)
{
	struct event event = { .when = 1, .who = ctx->global_linear, .text = "hello" }, *at;
	__u32 key = 0;

	bpf_ringbuf_output(&ring, &event, sizeof(event), 0);
	bpf_perf_event_output(ctx, &perf, BPF_F_CURRENT_CPU, &event, sizeof(event));
	bpf_perf_event_output(ctx, &records, 0, &event, sizeof(event));
	at = bpf_map_lookup_elem(&last, &key);
	if (at) {
		at->when = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
		bpf_ringbuf_output(&ring, at, sizeof(*at), 0);
	}
	return 0;
}

SEC("gpu/exit/*")
int reserve(struct gpubpf_ctx *ctx)
{
	struct event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);

	if (!event)
		return 0;
	event->who = ctx->global_linear;
	event->when = 2;
	if (ctx->thread_idx[0] & 1)
		bpf_ringbuf_discard(event, 0);
	else
		bpf_ringbuf_submit(event, 0);
	return 0;
}
