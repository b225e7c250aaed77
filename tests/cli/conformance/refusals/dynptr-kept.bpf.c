/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a dynptr of a ring that is neither submitted nor discarded. */
#include "../case.h"

EXPECT("refused REF_LEAK");

GPUBPF_RINGBUF(ring, __u64, 4096);

SEC("gpu/entry/*")
int dynptr(struct gpubpf_ctx *ctx)
{
	struct bpf_dynptr ptr;

	return bpf_ringbuf_reserve_dynptr(&ring, 8, 0, &ptr);
}
