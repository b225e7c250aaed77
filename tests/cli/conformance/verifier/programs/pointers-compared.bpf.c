/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a comparison of pointers to two objects. */
#include "../../case.h"

EXPECT("refused PTR_COMPARE");

GPUBPF_ARRAY(values, __u64, 1);

SEC("gpu/entry/*")
int pointers_compared(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	__u64 *found = bpf_map_lookup_elem(&values, &key);

	return found && (void *)found > (void *)ctx;
}
