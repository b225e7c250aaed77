/* SPDX-License-Identifier: Apache-2.0 */
/* Counts marks and adds up their values. tests/backends/hip/programs/run.py checks the sums. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(marks, __u64, 2);

SEC("gpu/mark/round")
int marked(struct gpubpf_ctx *ctx)
{
	__u64 *n = bpf_map_lookup_elem(&marks, &(__u32){ 0 }), *sum = bpf_map_lookup_elem(&marks, &(__u32){ 1 });

	if (n && sum) {
		gpubpf_count(n, 1);
		gpubpf_count(sum, ctx->mark);
	}
	return 0;
}
