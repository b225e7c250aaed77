/* SPDX-License-Identifier: Apache-2.0 */
/* Ring buffers into which programs of the Linux kernel and of the GPU write. The reader gets one stream of records. */
#include <gpubpf/probe.h>

struct event {
	__u64 time;
	__u32 of_gpu, number;
};
struct plain {
	__u32 of_gpu, number, more; /* a record of 12 bytes, which the Linux kernel pads in a perf event */
};

GPUBPF_RINGBUF(timed, struct event, 1 << 16);
GPUBPF_RINGBUF(untimed, struct plain, 1 << 16);
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} perf SEC(".maps");
const struct event *one_type;
const struct plain *another_type;
GPUBPF_ARRAY(count, __u64, 1);

static __always_inline void tell(void *ctx, __u32 of_gpu, __u32 number)
{
	struct event event = { .time = bpf_ktime_get_ns(), .of_gpu = of_gpu, .number = number };
	struct plain plain = { .of_gpu = of_gpu, .number = number };

	bpf_ringbuf_output(&timed, &event, sizeof(event), 0);
	bpf_ringbuf_output(&untimed, &plain, sizeof(plain), 0);
	bpf_perf_event_output(ctx, &perf, BPF_F_CURRENT_CPU, of_gpu ? (void *)&event : (void *)&plain,
			      of_gpu ? sizeof(event) : sizeof(plain));
}

SEC("uprobe")
int on_pause(void *ctx)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&count, &zero);

	if (n)
		tell(ctx, 0, __sync_fetch_and_add(n, 1));
	return 0;
}

SEC("gpu/entry/step_*")
int on_entry(struct gpubpf_ctx *ctx)
{
	if (!ctx->global_linear)
		tell(ctx, 1, ctx->launch);
	return 0;
}

char LICENSE[] SEC("license") = "GPL"; /* the Linux kernel allows bpf_perf_event_output() only for a GPL program */
