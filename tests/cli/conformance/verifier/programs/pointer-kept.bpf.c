/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a program that stores a pointer in a map, where the next program would read it as a number. */
#include "../../case.h"

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
