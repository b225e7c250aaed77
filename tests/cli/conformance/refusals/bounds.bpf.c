/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: an access to a map's value with an index that the program does not check. */
#include "../case.h"

EXPECT("refused MAP_BOUNDS");

struct values {
	__u64 word[4];
};
GPUBPF_ARRAY(values, struct values, 1);

SEC("gpu/entry/*")
int bounds(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	struct values *found = bpf_map_lookup_elem(&values, &key);

	return found ? found->word[ctx->thread_idx[0] & 7] : 0;
}
