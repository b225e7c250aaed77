/* SPDX-License-Identifier: Apache-2.0 */
/* A full ring buffer that no session drains: bpf_ringbuf_reserve() fails and the ring buffer counts a drop. */
#include "../case.h"

EXPECT("alone");
EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 3");
EXPECT("accounted ring 2001");

struct event {
	__u64 words[7];
};
GPUBPF_RINGBUF(ring, struct event, 4096);

SEC("gpu/entry/*")
int fill(struct gpubpf_ctx *ctx)
{
	struct event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);

	CHECK(event != NULL, 1);
	if (event)
		bpf_ringbuf_submit(event, 0);
	for (int i = 0; i < 1999; i++) {
		event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
		if (event)
			bpf_ringbuf_submit(event, 0);
	}
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	CHECK(event == NULL, 1);
	if (event)
		bpf_ringbuf_discard(event, 0);
	CHECK(bpf_ringbuf_query(&ring, 77), 0);
	return 0;
}
