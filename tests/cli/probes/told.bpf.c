/* SPDX-License-Identifier: Apache-2.0 */
/* A table of the application's allocations that no program reads; the user dumps it. */
#include <gpubpf/probe.h>

GPUBPF_ALLOCATIONS(made, 4);
GPUBPF_ARRAY(ticks, __u64, 1);

SEC("gpu/exit/step_*")
int tick(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&ticks, 0, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
