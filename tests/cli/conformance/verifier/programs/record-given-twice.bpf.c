/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a program that submits or discards a reserved record a second time. */
#include "../../case.h"

EXPECT("refused RELEASED");

GPUBPF_RINGBUF(ring, __u64, 4096);

SEC("gpu/entry/*")
int record_given_twice(struct gpubpf_ctx *ctx)
{
	__u64 *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);

	if (!record)
		return 0;
	bpf_ringbuf_submit(record, 0);
	bpf_ringbuf_discard(record, 0);
	return 0;
}
