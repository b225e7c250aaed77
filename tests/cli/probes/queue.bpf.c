/* SPDX-License-Identifier: Apache-2.0 */
/* Takes jobs from a queue, which the user fills, and pushes the results onto a stack. */
#include <gpubpf/probe.h>

struct job {
	__u32 number, times;
};

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 3);
	__type(value, struct job);
} jobs SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 8);
	__type(value, __u64);
} results SEC(".maps");
GPUBPF_ARRAY(counts, __u64, 1);
GPUBPF_HASH(paid, struct job, __u32, 2);

SEC("gpu/entry/step_*")
int work(struct gpubpf_ctx *ctx)
{
	struct job job;
	__u64 result;

	if (ctx->global_linear || bpf_map_pop_elem(&jobs, &job))
		return 0;
	result = job.number * job.times;
	bpf_map_push_elem(&results, &result, BPF_ANY);
	return 0;
}
