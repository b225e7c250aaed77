/* SPDX-License-Identifier: Apache-2.0 */
/* Counts blocks that begin and end. At the end of a block, reads the value that the block's last thread stored. */
#include <gpubpf/probe.h>

struct told {
	__u64 times, stored;
};
GPUBPF_ARRAY(begun, struct told, 1);
GPUBPF_ARRAY(ended, struct told, 1);

static __always_inline void tell(struct told *t, __u64 stored)
{
	if (!t)
		return;
	gpubpf_count(&t->times, 1);
	gpubpf_count(&t->stored, stored);
}

SEC("gpu/block_begin/*")
int begin(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;

	tell(bpf_map_lookup_elem(&begun, &key), 0);
	return 0;
}

SEC("gpu/block_end/*")
int end(struct gpubpf_ctx *ctx)
{
	const __u32 *out = (const __u32 *)ctx->arg[0];
	__u32 key = 0, value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), out + (gpubpf_block_linear(ctx) + 1) * gpubpf_block_threads(ctx) - 1);
	tell(bpf_map_lookup_elem(&ended, &key), value);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
