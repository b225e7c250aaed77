/* SPDX-License-Identifier: Apache-2.0 */
/* A program that names a clock that helper 502 lacks. */
#include <gpubpf/probe.h>

SEC("gpu/entry/step_one") GPUBPF_CLOCK("boottime") int count(struct gpubpf_ctx *ctx)
{
	return bpf_get_globaltimer() & 1;
}

char LICENSE[] SEC("license") = "GPL";
