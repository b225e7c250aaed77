/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the stack of each launch as build ids and file offsets. */
#include <gpubpf/probe.h>

struct frame { /* struct bpf_stack_build_id */
	__s32 status;
	__u8 build_id[20];
	__u64 offset;
};
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16);
	__uint(map_flags, BPF_F_STACK_BUILD_ID);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 20 * sizeof(struct frame));
} stacks SEC(".maps");
GPUBPF_HASH(ids, __u32, __u64, 16);

SEC("gpu/entry/step_*")
int on_entry(struct gpubpf_ctx *ctx)
{
	__s32 id = ctx->global_linear ? -1 : bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	__u64 one = 1;

	if (id >= 0)
		bpf_map_update_elem(&ids, &id, &one, BPF_ANY);
	return 0;
}
