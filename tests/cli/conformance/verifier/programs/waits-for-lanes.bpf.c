/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a loop that ends only if another lane changes a flag. */
#include "../../case.h"

EXPECT("refused SIMT_WAIT");

GPUBPF_ARRAY(flags, __u64, 1);

SEC("gpu/entry/*")
int waits_for_lanes(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	volatile __u64 *found = bpf_map_lookup_elem(&flags, &key);

	if (!found)
		return 0;
	for (int i = 0; i < 100 && !*found; i++)
		;
	return 0;
}
