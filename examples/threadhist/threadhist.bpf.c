/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows how evenly work is spread over the threads of the grid: how often each thread ran, and for how long in total.
 */
#include <gpubpf/probe.h>

/* Each thread has its own value, so plain loads and stores suffice. */
GPUBPF_PER_THREAD(runs, __u64);
GPUBPF_PER_THREAD(busy_ns, __u64);

static __always_inline void add(void *map, __u64 n)
{
	__u64 *mine = bpf_map_lookup_elem(map, &(__u32){ 0 });

	if (mine)
		*mine += n;
}

/* The entry subtracts its time, and the exit adds its time. So the sum is the time between the two. */
SEC("gpu/entry/*")
int thread_enter(struct gpubpf_ctx *ctx)
{
	add(&busy_ns, -bpf_get_globaltimer());
	return 0;
}

SEC("gpu/exit/*")
int thread_leave(struct gpubpf_ctx *ctx)
{
	add(&busy_ns, bpf_get_globaltimer());
	add(&runs, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
