/* SPDX-License-Identifier: Apache-2.0 */
/* Arms a program that the object does not have. */
#include <gpubpf/probe.h>

GPUBPF_ARMS(missing);

SEC("gpu/exit/step_*")
int watch(struct gpubpf_ctx *ctx)
{
	gpubpf_arm(missing, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
