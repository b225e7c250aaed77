/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the time that each thread of the grid spends in kernels. */
#include <gpubpf/probe.h>

GPUBPF_PER_THREAD(threads, gpubpf_ns);

/* The entry subtracts its time, and the exit adds its time. So the sum is the time between the two. */
static __always_inline void add(__u64 ns)
{
	__u64 *mine = bpf_map_lookup_elem(&threads, &(__u32){ 0 });

	if (mine)
		*mine += ns;
}

SEC("gpu/entry/*")
GPUBPF_ABOUT("how long each thread of the grid runs, over all launches: a histogram")
int thread_begins(struct gpubpf_ctx *ctx)
{
	add(-bpf_ktime_get_ns());
	return 0;
}

SEC("gpu/exit/*")
int thread_ends(struct gpubpf_ctx *ctx)
{
	add(bpf_ktime_get_ns());
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
