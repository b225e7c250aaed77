/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the cost of launches by the call stack in the application that makes them. */
#include <gpubpf/probe.h>

GPUBPF_MAP(stacks, BPF_MAP_TYPE_STACK_TRACE, __u32, __u64[127], 1024);

struct path {
	gpubpf_kernel kernel;
	gpubpf_stack from;
};
struct GPUBPF_ROW cost {
	__u64 threads;
	gpubpf_ns spent; /* sum of the run times of all threads */
};
GPUBPF_HASH(paths, struct path, struct cost, 1024);
GPUBPF_PER_THREAD(entered, __u64) GPUBPF_SCRATCH; /* time of the thread's entry */

SEC("gpu/entry/*")
int begin(struct gpubpf_ctx *ctx)
{
	__u64 *at = bpf_map_lookup_elem(&entered, &(__u32){ 0 });

	if (at)
		*at = bpf_ktime_get_ns();
	return 0;
}

SEC("gpu/exit/*")
int end(struct gpubpf_ctx *ctx)
{
	struct path path = { gpubpf_kernel_of(ctx), bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK) };
	struct cost *cost = bpf_map_lookup_elem(&paths, &path), none = {};
	__u64 *at = bpf_map_lookup_elem(&entered, &(__u32){ 0 });

	if (!cost) {
		bpf_map_update_elem(&paths, &path, &none, BPF_NOEXIST); /* fails harmlessly if another lane is first */
		cost = bpf_map_lookup_elem(&paths, &path);
	}
	if (!cost || !at)
		return 0;
	gpubpf_count(&cost->threads, 1);
	gpubpf_count(&cost->spent, bpf_ktime_get_ns() - *at);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
