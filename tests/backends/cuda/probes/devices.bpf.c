/* SPDX-License-Identifier: Apache-2.0 */
/* Counts threads per device. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(devices, __u64, 64);

SEC("gpu/exit/*")
int on_device(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&devices, ctx->device & 63, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
