/* SPDX-License-Identifier: Apache-2.0 */
/* A program that does not compare the address of the data with NULL. */
#include <gpubpf/probe.h>

SEC("gpu/run/unchecked") int unchecked(struct gpubpf_ctx *ctx)
{
	__u32 *word = gpubpf_data(0, 4);

	return *word;
}

char LICENSE[] SEC("license") = "GPL";
