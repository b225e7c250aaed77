/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_printk() with a format in .rodata, with a format on the stack, and with strings. */
#include <gpubpf/probe.h>

static const char greeting[] = "a string in .rodata";

SEC("gpu/entry/*")
int print(struct gpubpf_ctx *ctx)
{
	char fmt[] = "thread %llu of %llu, %x\n", text[] = "on the stack";

	bpf_trace_printk(fmt, sizeof(fmt), ctx->thread_idx[0], ctx->block_dim[0], 0xbeef);
	bpf_printk("launch %llu", ctx->launch);
	ebpf_puts(text);
	ebpf_puts(greeting);
	return 0;
}
