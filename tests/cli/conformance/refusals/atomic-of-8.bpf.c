/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: an eight-byte atomic on a target that has only four-byte atomics. The reason names the target. */
#include "../case.h"

EXPECT("target clc32");
EXPECT("refused TARGET_ATOMIC target clc32 has atomics of at most 4 bytes");

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
