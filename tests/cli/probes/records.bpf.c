/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring buffers whose record type the object declares, in each possible way, and ring buffers without a declared record
 * type.
 */
#include <gpubpf/probe.h>

struct named {
	__u32 thread;
	char comm[8];
};

struct wide {
	__u64 a, b, c;
};

struct twin_a {
	__u64 a, b;
};

struct twin_b {
	__u32 a, b, c, d;
};

/* unused variables that add the types to BTF, as users of bpf2go do */
const struct named *unused_named __attribute__((unused));
const struct twin_a *unused_a __attribute__((unused));
const struct twin_b *unused_b __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(int));
	__uint(value_size, sizeof(int));
} perf SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
	__type(value, struct wide);
} wide_ring SEC(".maps");

SEC("gpu/entry/step_one")
int enter(struct gpubpf_ctx *ctx)
{
	struct named named = { 7, "seven" };
	struct wide wide = { 1, 2, 3 };
	struct twin_a either = { 4, 5 };
	char text[20] = "a text of 20 bytes";

	if (ctx->global_linear != 7)
		return 0;
	bpf_ringbuf_output(&ring, &named, sizeof(named), 0);
	bpf_perf_event_output(ctx, &perf, BPF_F_CURRENT_CPU, &named, sizeof(named));
	bpf_ringbuf_output(&wide_ring, &wide, sizeof(wide), 0);
	bpf_ringbuf_output(&ring, &either, sizeof(either), 0);
	bpf_ringbuf_output(&ring, text, sizeof(text), 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
