/* SPDX-License-Identifier: Apache-2.0 */
/* GPU_RINGBUF: records of the map's fixed size are stored, longer ones are refused. */
#include "../case.h"

EXPECT("launch 4,1,1 32,1,1");
EXPECT("checks 256");
EXPECT("records ring 128");
EXPECT("drops ring 128");

struct event {
	__u64 words[3];
};
struct {
	__uint(type, BPF_MAP_TYPE_GPU_RINGBUF);
	__uint(max_entries, 1024);
	__uint(key_size, 0);
	__type(value, struct event);
} ring SEC(".maps");

SEC("gpu/entry/*")
int output(struct gpubpf_ctx *ctx)
{
	struct event event[2] = { { { ctx->global_linear } } };

	CHECK(bpf_perf_event_output(ctx, &ring, BPF_F_CURRENT_CPU, event, sizeof(event[0])), 0);
	CHECK(bpf_perf_event_output(ctx, &ring, BPF_F_CURRENT_CPU, event, sizeof(event)), -28);
	return 0;
}
