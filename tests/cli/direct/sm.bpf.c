/* SPDX-License-Identifier: Apache-2.0 */
/* A program that CPU devices refuse: their multiprocessors have no numbers. */
#include <gpubpf/probe.h>

SEC("gpu/run/sm") int sm(struct gpubpf_ctx *ctx)
{
	return bpf_get_sm_id();
}

char LICENSE[] SEC("license") = "GPL";
