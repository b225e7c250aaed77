/* SPDX-License-Identifier: Apache-2.0 */
/* Two programs that count in one map: [0] threads that entered, [1] threads that left. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(counts, __u64, 2);

SEC("gpu/entry/add_*")
int entered(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&counts, 0, 1);
	return 0;
}

SEC("gpu/exit/add_*")
int left(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&counts, 1, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
