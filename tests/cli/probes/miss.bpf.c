/* SPDX-License-Identifier: Apache-2.0 */
/* A program for a kernel that the application never launches. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(counts, __u64, 1);
GPUBPF_PER_THREAD(own, __u64);

SEC("gpu/entry/step_on")
int miss(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&counts, 0, 1);
	gpubpf_add(&own, 0, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
