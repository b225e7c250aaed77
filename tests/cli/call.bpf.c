/* SPDX-License-Identifier: Apache-2.0 */
/* Counts calls of device functions that match a glob over their demangled names. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(calls, __u64, 1);

SEC("gpu/call/help*")
int called(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&calls, 0, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
