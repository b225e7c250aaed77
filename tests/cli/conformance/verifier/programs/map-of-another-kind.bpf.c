/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a look-up in a ring buffer, which has no keys. */
#include "../../case.h"

EXPECT("refused HELPER_ARG");

GPUBPF_RINGBUF(ring, __u64, 4096);

SEC("gpu/entry/*")
int map_of_another_kind(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;

	return bpf_map_delete_elem(&ring, &key);
}
