/* SPDX-License-Identifier: Apache-2.0 */
/* The stack: structs and spills become registers. Only the array with a variable index stays in memory. */
#include <gpubpf/probe.h>

struct record {
	__u64 a, b;
	__u32 c;
	__u16 d;
	__u8 e[2];
};

GPUBPF_ARRAY(records, struct record, 8);

SEC("gpu/entry/*")
int stack(struct gpubpf_ctx *ctx)
{
	struct record record = { ctx->thread_idx[0], ctx->block_idx[1], 3, 4, { 5, 6 } };
	volatile __u64 table[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	__u32 key = ctx->thread_idx[0] & 7;

	record.a += table[ctx->block_idx[0] & 7];
	bpf_map_update_elem(&records, &key, &record, BPF_ANY);
	return 0;
}
