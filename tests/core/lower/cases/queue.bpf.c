/* SPDX-License-Identifier: Apache-2.0 */
/* A queue and a stack with values on the BPF stack and in another map, with an odd size, and after a failed pop. */
#include <gpubpf/probe.h>

struct record {
	__u64 thread;
	__u32 block, odd;
	__u16 tail;
} __attribute__((packed));

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 5);
	__type(value, struct record);
} queue SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 3);
	__type(value, __u64);
} stack SEC(".maps");
GPUBPF_ARRAY(out, __u64, 8);
GPUBPF_ARRAY(records, struct record, 1);

SEC("gpu/entry/*")
int queues(struct gpubpf_ctx *ctx)
{
	struct record r = { ctx->global_linear, (__u32)ctx->block_idx[0], 3, 4 };
	__u64 v = ctx->thread_idx[0];
	struct record *last;
	__u32 zero = 0;

	gpubpf_add(&out, 0, bpf_map_push_elem(&queue, &r, BPF_ANY) != 0);
	bpf_map_push_elem(&stack, &v, BPF_EXIST);
	bpf_map_push_elem(&stack, &zero, 77);
	last = bpf_map_lookup_elem(&records, &zero);
	if (last && bpf_map_pop_elem(&queue, last) == 0)
		gpubpf_add(&out, 1, last->thread + last->tail);
	if (last)
		bpf_map_push_elem(&queue, last, BPF_ANY);
	if (bpf_map_peek_elem(&stack, &v) == 0)
		gpubpf_add(&out, 2, v);
	for (int i = 0; i < 4; i++)
		gpubpf_add(&out, 3 + i, bpf_map_pop_elem(&stack, &v) == 0 ? v + 1 : v);
	return 0;
}
