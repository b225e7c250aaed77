/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a look-up in a map, whose result the program uses without a check for NULL. */
#include "../case.h"

EXPECT("refused NULL_DEREF may be NULL");

GPUBPF_ARRAY(values, __u64, 4);

SEC("gpu/entry/*")
int null(struct gpubpf_ctx *ctx)
{
	__u32 key = ctx->thread_idx[0];

	return *(__u64 *)bpf_map_lookup_elem(&values, &key);
}
