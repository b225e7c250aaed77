/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and maps that most tests of the command line use: a program of each kind that they need. */
#include <gpubpf/probe.h>

struct seen {
	__u64 launch;
	__u32 thread, site;
};

GPUBPF_ARRAY(counts, __u64, 2);
GPUBPF_HISTOGRAM(threads);
GPUBPF_RINGBUF(records, struct seen, 65536);

SEC("gpu/entry/step_*")
int enter(struct gpubpf_ctx *ctx)
{
	struct seen *seen;

	gpubpf_add(&counts, 0, 1);
	gpubpf_observe(&threads, ctx->global_linear);
	if (ctx->global_linear != 5)
		return 0;
	bpf_printk("thread %d of launch %d", (int)ctx->global_linear, (int)ctx->launch);
	seen = bpf_ringbuf_reserve(&records, sizeof(*seen), 0);
	if (!seen)
		return 0;
	seen->launch = ctx->launch;
	seen->thread = ctx->global_linear;
	seen->site = ctx->site;
	bpf_ringbuf_submit(seen, 0);
	return 0;
}

SEC("gpu/exit/step_*")
int leave(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&counts, 1, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
