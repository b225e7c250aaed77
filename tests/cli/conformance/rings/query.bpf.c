/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_ringbuf_query() while no session reads the ring buffer: its size, the available data and both positions. */
#include "../case.h"

EXPECT("alone");
EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 6");
EXPECT("records ring 1");

GPUBPF_RINGBUF(ring, __u64, 4096);

SEC("gpu/entry/*")
int query(struct gpubpf_ctx *ctx)
{
	__u64 word = 1, before = bpf_ringbuf_query(&ring, BPF_RB_PROD_POS), after;

	CHECK(bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) >= 4096, 1);
	CHECK(bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA), 0);
	CHECK(bpf_ringbuf_output(&ring, &word, sizeof(word), 0), 0);
	after = bpf_ringbuf_query(&ring, BPF_RB_PROD_POS);
	CHECK(after - before >= 16 && after - before <= 64, 1);
	CHECK(bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA), after - before);
	CHECK(bpf_ringbuf_query(&ring, BPF_RB_CONS_POS), before);
	return 0;
}
