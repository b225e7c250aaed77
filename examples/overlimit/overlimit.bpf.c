/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces the next launch after a launch in which a thread ran longer than its limit. All other launches run only the
 * check. Compile with -DLIMIT_NS=N for another limit.
 */
#include <gpubpf/probe.h>

#ifndef LIMIT_NS
#define LIMIT_NS 100000
#endif

GPUBPF_ARMS(trace);
GPUBPF_PER_THREAD(entered, __u64);
GPUBPF_ARRAY(over, __u64, 1); /* threads that ran over the limit */
GPUBPF_HASH(traced, gpubpf_kernel, __u64, 256); /* traced threads */

SEC("gpu/entry/*")
int begin(struct gpubpf_ctx *ctx)
{
	__u64 *t = bpf_map_lookup_elem(&entered, &(__u32){ 0 });

	if (t)
		*t = bpf_ktime_get_ns();
	return 0;
}

SEC("gpu/exit/*")
int watch(struct gpubpf_ctx *ctx)
{
	__u64 *t = bpf_map_lookup_elem(&entered, &(__u32){ 0 });

	if (!t || bpf_ktime_get_ns() - *t <= LIMIT_NS)
		return 0;
	gpubpf_add(&over, 0, 1);
	gpubpf_arm(trace, 1);
	return 0;
}

/* A real tracer would record more here, such as each access of memory (mem_trace). */
SEC("gpu/entry/*")
int trace(struct gpubpf_ctx *ctx)
{
	gpubpf_kernel kernel = gpubpf_kernel_of(ctx);
	__u64 *n = bpf_map_lookup_elem(&traced, &kernel);

	if (n)
		gpubpf_count(n, 1);
	else
		bpf_map_update_elem(&traced, &kernel, &(__u64){ 1 }, BPF_NOEXIST);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
