/* SPDX-License-Identifier: Apache-2.0 */
/* Reserved records of a ring buffer: readers get the submitted ones and not the discarded ones. */
#include "../case.h"

EXPECT("launch 4,1,1 32,1,1");
EXPECT("records ring 64");
EXPECT("drops ring 0");

struct event {
	__u64 who, what;
};
GPUBPF_RINGBUF(ring, struct event, 65536);

SEC("gpu/entry/*")
int reserve(struct gpubpf_ctx *ctx)
{
	struct event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);

	if (!event)
		return 0;
	event->who = ctx->global_linear;
	event->what = 1;
	if (ctx->thread_idx[0] & 1)
		bpf_ringbuf_discard(event, 0);
	else
		bpf_ringbuf_submit(event, 0);
	return 0;
}
