/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in texts, texts of numbers, lengths of texts, and prints of many values. */
#include <gpubpf/probe.h>

extern int bpf_strnlen(const char *s, __u64 count) __ksym;
extern int bpf_strnchr(const char *s, __u64 count, char c) __ksym;

GPUBPF_ARRAY(out, __u64, 4);

SEC("gpu/entry/*")
int texts(struct gpubpf_ctx *ctx)
{
	char text[32];
	unsigned long u = 0;
	long s = 0;

	gpubpf_add(&out, 0, BPF_SNPRINTF(text, sizeof(text), "%d %#x", ctx->thread_idx[0], ctx->launch));
	gpubpf_add(&out, 1, bpf_strtol(text, sizeof(text), 10, &s) + s);
	gpubpf_add(&out, 2, bpf_strtoul(text, sizeof(text), 0, &u) + u);
	gpubpf_add(&out, 3, bpf_strnlen(text, sizeof(text)) + bpf_strnchr(text, sizeof(text), ' '));
	bpf_printk("%d %d %d %s", 1, 2, ctx->thread_idx[0], "four");
	return 0;
}
