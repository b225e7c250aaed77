/* SPDX-License-Identifier: Apache-2.0 */
/* A pointer must not stay in a map: it would be a number for the next program. */
#include "../case.h"

EXPECT("refused PTR_LEAK");

GPUBPF_ARRAY(values, __u64, 1);

SEC("gpu/entry/*")
int pointer_kept(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	__u64 *found = bpf_map_lookup_elem(&values, &key);

	if (found)
		*found = (__u64)found;
	return 0;
}
