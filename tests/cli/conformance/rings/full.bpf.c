/* SPDX-License-Identifier: Apache-2.0 */
/* A full ring buffer that no session drains: a record that does not fit is refused and counted as a drop. */
#include "../case.h"

EXPECT("alone");
EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 2");
EXPECT("accounted ring 4000");

struct event {
	__u64 words[7];
};
GPUBPF_RINGBUF(ring, struct event, 4096);

SEC("gpu/entry/*")
int fill(struct gpubpf_ctx *ctx)
{
	struct event event = { { 1 } };

	CHECK(bpf_ringbuf_output(&ring, &event, sizeof(event), 0), 0);
	for (int i = 0; i < 3998; i++)
		bpf_ringbuf_output(&ring, &event, sizeof(event), 0);
	CHECK(bpf_ringbuf_output(&ring, &event, sizeof(event), 0), (__u64)-11);
	return 0;
}
