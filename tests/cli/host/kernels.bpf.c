/* SPDX-License-Identifier: Apache-2.0 */
/* Programs at kernels that the runtime measures. */
#include <gpubpf/probe.h>

enum { BEGUN, ENDED, BAD, NSLOTS };

struct launch {
	__u64 kernel, launch;
};

GPUBPF_ARRAY(counts, __u64, NSLOTS);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct launch);
	__type(value, __u64);
} launched SEC(".maps");

SEC("host/launch")
int launch(struct gpubpf_ctx *ctx)
{
	struct launch key = { ctx->kernel, ctx->launch };
	__u64 now = bpf_ktime_get_ns();

	bpf_map_update_elem(&launched, &key, &now, BPF_ANY);
	return 0;
}

SEC("host/kernel/step_one")
int kernel_begins(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&counts, BEGUN, 1);
	return 0;
}

/* The kernel runs after the begin of its launch, and has ended now. The clocks may differ by 100 us. */
SEC("host/kernel_exit")
int kernel_ends(struct gpubpf_ctx *ctx)
{
	struct launch key = { ctx->kernel, ctx->launch };
	__u64 *launched_ns = bpf_map_lookup_elem(&launched, &key);
	__u64 now = bpf_ktime_get_ns(), end = ctx->mark + ctx->done.duration;

	gpubpf_add(&counts, ENDED, 1);
	if (!launched_ns || ctx->mark + 100000 < *launched_ns || end > now + 100000 || !ctx->done.duration ||
	    ctx->done.device_ns != ctx->done.duration || !ctx->host.stream)
		gpubpf_add(&counts, BAD, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
