/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: an access to a word past the end of a reserved record. */
#include "../../case.h"

EXPECT("refused MEM_BOUNDS");

GPUBPF_RINGBUF(ring, __u64, 4096);

SEC("gpu/entry/*")
int record_bounds(struct gpubpf_ctx *ctx)
{
	__u64 *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);

	if (!record)
		return 0;
	record[1] = 1;
	bpf_ringbuf_submit(record, 0);
	return 0;
}
