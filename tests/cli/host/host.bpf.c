/* SPDX-License-Identifier: Apache-2.0 */
/* Programs at calls of the runtime, which share a map with a program in kernels. */
#include <gpubpf/probe.h>

enum {
	LAUNCHES,
	LAUNCHED,
	THREADS,
	LAUNCH_SUM,
	KERNELS_DIFFER,
	COPIES,
	COPIED,
	ON_DEVICE,
	BAD_TIMES,
	WRITTEN,
	READ,
	NSLOTS
};

struct launch {
	__u64 kernel, launch;
};

GPUBPF_ARRAY(counts, __u64, NSLOTS);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct launch);
	__type(value, __u64);
} begun SEC(".maps");

SEC("host/launch")
int launch(struct gpubpf_ctx *ctx)
{
	struct launch key = { ctx->kernel, ctx->launch };
	__u64 call = ctx->host.call;

	gpubpf_add(&counts, LAUNCHES, 1);
	bpf_map_update_elem(&begun, &key, &call, BPF_ANY);
	return 0;
}

/* The launch has the same kernel, number and call before and after the call. */
SEC("host/launch_exit/*")
int launched(struct gpubpf_ctx *ctx)
{
	struct launch key = { ctx->kernel, ctx->launch };
	__u64 *call = bpf_map_lookup_elem(&begun, &key), now = bpf_ktime_get_ns();

	if (call && *call == ctx->host.call && !ctx->done.result && ctx->done.duration &&
	    ctx->mark + ctx->done.duration <= now && now - ctx->mark < 10000000000)
		gpubpf_add(&counts, LAUNCHED, 1);
	return 0;
}

/* The first thread of each launch finds the launch that the host recorded. */
SEC("gpu/entry/*")
int entered(struct gpubpf_ctx *ctx)
{
	struct launch key = { ctx->kernel, ctx->launch };

	if (!ctx->global_linear)
		gpubpf_add(&counts, bpf_map_lookup_elem(&begun, &key) ? LAUNCH_SUM : KERNELS_DIFFER, 1);
	gpubpf_add(&counts, THREADS, 1);
	return 0;
}

SEC("host/copy_exit")
int copied(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&counts, COPIES, 1);
	gpubpf_add(&counts, COPIED, ctx->host.bytes);
	if (ctx->done.clock == GPUBPF_DONE_DEVICE)
		gpubpf_add(&counts, ON_DEVICE, 1);
	if (ctx->done.clock == GPUBPF_DONE_DEVICE && ctx->done.device_ns > ctx->done.duration)
		gpubpf_add(&counts, BAD_TIMES, 1);
	gpubpf_add(&counts, ctx->host.direction == GPUBPF_COPY_TO_DEVICE ? WRITTEN : READ, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
