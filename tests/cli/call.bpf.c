/* SPDX-License-Identifier: Apache-2.0 */
/* Counts calls of a device function; of which, a glob over its demangled name says. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(calls, __u64, 1);

SEC("gpu/call/help*")
int called(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&calls, 0, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
