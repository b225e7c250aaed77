/* SPDX-License-Identifier: Apache-2.0 */
/* A look-up whose result is used without a check for NULL. */
#include "../case.h"

EXPECT("refused NULL_DEREF may be NULL");

GPUBPF_ARRAY(values, __u64, 4);

SEC("gpu/entry/*")
int null(struct gpubpf_ctx *ctx)
{
	__u32 key = ctx->thread_idx[0];

	return *(__u64 *)bpf_map_lookup_elem(&values, &key);
}
