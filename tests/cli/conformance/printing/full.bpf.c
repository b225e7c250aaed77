/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A full print buffer that no session drains: helpers 6 (bpf_printk) and 501 (ebpf_puts) return -EAGAIN, and the
 * program continues.
 */
#include "../case.h"

EXPECT("alone");
EXPECT("apart");
EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 4");

static const char text[] = "a line that is as long as it has to be, so that the ring is full before the program has taken all its rounds";

SEC("gpu/entry/*")
int fill(struct gpubpf_ctx *ctx)
{
	long printed = 0, put = 0;

	CHECK(bpf_printk("%d", 1) > 0, 1);
	CHECK(ebpf_puts(text) > 0, 1);
	for (int i = 0; i < 32768; i++)
		put = ebpf_puts(text);
	for (int i = 0; i < 64; i++) /* fills the rest of the buffer */
		printed = bpf_printk("%llu %llu %llu", ctx->launch, ctx->launch, ctx->launch);
	CHECK(put, -11);
	CHECK(printed, -11);
	return 0;
}
