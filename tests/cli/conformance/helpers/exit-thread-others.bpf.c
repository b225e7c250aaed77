/* SPDX-License-Identifier: Apache-2.0 */
/* Helper 507 (exit_thread) ends its GPU thread: later BPF programs run only in the other threads. */
#include "../case.h"

EXPECT("launch 4,1,1 8,1,1");
EXPECT("alone");
EXPECT("map before[0] 32");
EXPECT("map after[0] 24");

GPUBPF_ARRAY(before, __u64, 1);
GPUBPF_ARRAY(after, __u64, 1);

SEC("gpu/entry/*")
int ends(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&before, 0, 1);
	if (ctx->thread_idx[0] >= 6)
		bpf_exit_thread();
	return 0;
}

SEC("gpu/entry/*")
int remains(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&after, 0, 1);
	return 0;
}
