/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a program that ends its GPU thread while it holds a reserved record. */
#include "../../case.h"

EXPECT("refused REF_LEAK");

GPUBPF_RINGBUF(ring, __u64, 4096);

SEC("gpu/entry/*")
int thread_ended_with_record(struct gpubpf_ctx *ctx)
{
	__u64 *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);

	if (!record)
		return 0;
	bpf_exit_thread();
	bpf_ringbuf_submit(record, 0);
	return 0;
}
