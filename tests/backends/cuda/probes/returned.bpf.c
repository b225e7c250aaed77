/* SPDX-License-Identifier: Apache-2.0 */
/* Counts returns from the device functions whose names start with help. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(returns, __u64, 1);

SEC("gpu/call_exit/help*")
int returned(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&returns, 0, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
