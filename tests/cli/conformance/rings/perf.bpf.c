/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_perf_event_output() (helper 25) into PERF_EVENT_ARRAY and GPU_RINGBUF maps. */
#include "../case.h"

EXPECT("launch 2,1,1 16,1,1");
EXPECT("checks 64");
EXPECT("records events 32");
EXPECT("records records 32");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} events SEC(".maps");
GPUBPF_MAP(records, BPF_MAP_TYPE_GPU_RINGBUF, __u32, __u64, 64);

SEC("gpu/entry/*")
int perf(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->global_linear;

	CHECK(bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &me, sizeof(me)), 0);
	CHECK(bpf_perf_event_output(ctx, &records, 0, &me, sizeof(me)), 0);
	return 0;
}
