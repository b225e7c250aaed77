/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_ringbuf_query(): each record advances the producer position by its size; the consumer position never exceeds it.
 */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 5");
EXPECT("records ring 2");

GPUBPF_RINGBUF(ring, __u64, 4096);

SEC("gpu/entry/*")
int positions(struct gpubpf_ctx *ctx)
{
	__u64 word = 1, before = bpf_ringbuf_query(&ring, BPF_RB_PROD_POS), after;

	CHECK(bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) >= 4096, 1);
	CHECK(bpf_ringbuf_output(&ring, &word, sizeof(word), 0), 0);
	after = bpf_ringbuf_query(&ring, BPF_RB_PROD_POS);
	CHECK(after - before >= 16 && after - before <= 64, 1);
	CHECK(bpf_ringbuf_output(&ring, &word, sizeof(word), 0), 0);
	CHECK(bpf_ringbuf_query(&ring, BPF_RB_CONS_POS) <= bpf_ringbuf_query(&ring, BPF_RB_PROD_POS), 1);
	return 0;
}
