/* SPDX-License-Identifier: Apache-2.0 */
/* Delays each GPU thread by at least 50 us. */
#include <gpubpf/probe.h>

SEC("gpu/entry/*")
int slow(struct gpubpf_ctx *ctx)
{
	gpubpf_delay(50000);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
