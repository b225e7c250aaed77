/* SPDX-License-Identifier: Apache-2.0 */
/* An eight-byte atomic on a target with four-byte atomics only: refused, and the reason names the missing feature. */
#include "../case.h"

EXPECT("target clc32");
EXPECT("refused TARGET_ATOMIC those of target clc32 have 4 at most");

GPUBPF_ARRAY(values, __u64, 1);

SEC("gpu/entry/*")
int atomic(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	__u64 *found = bpf_map_lookup_elem(&values, &key);

	if (found)
		__sync_fetch_and_add(found, 1);
	return 0;
}
