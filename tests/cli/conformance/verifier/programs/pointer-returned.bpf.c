/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a program that returns a pointer. */
#include "../../case.h"

EXPECT("refused PTR_LEAK");

GPUBPF_ARRAY(values, __u64, 1);

SEC("gpu/entry/*")
int pointer_returned(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;

	return (int)(long)bpf_map_lookup_elem(&values, &key);
}
