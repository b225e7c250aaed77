/* SPDX-License-Identifier: Apache-2.0 */
/* A program that reads past the end of the bytes that it requested. */
#include <gpubpf/probe.h>

SEC("kprobe/__directly_run") int cuda__overrun(struct gpubpf_ctx *ctx)
{
	__u32 *word = gpubpf_data(0, 4);

	return word ? word[1] : 0;
}

char LICENSE[] SEC("license") = "GPL";
