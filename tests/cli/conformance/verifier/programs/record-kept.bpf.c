/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a path of the program that neither submits nor discards a reserved record. */
#include "../../case.h"

EXPECT("refused REF_LEAK");

GPUBPF_RINGBUF(ring, __u64, 4096);

SEC("gpu/entry/*")
int record_kept(struct gpubpf_ctx *ctx)
{
	__u64 *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);

	if (!record)
		return 0;
	*record = 1;
	if (ctx->launch & 1)
		bpf_ringbuf_submit(record, 0);
	return 0;
}
