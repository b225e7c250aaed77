/* SPDX-License-Identifier: Apache-2.0 */
/* Counts calls of device functions whose demangled names match a glob. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(calls, __u64, 1);

SEC("gpu/call/help*")
int called(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&calls, 0, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
