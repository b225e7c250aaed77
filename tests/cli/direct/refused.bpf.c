/* SPDX-License-Identifier: Apache-2.0 */
/* The data buffer belongs to programs of gpu/run/ alone. */
#include <gpubpf/probe.h>

SEC("gpu/entry/k") int probe(struct gpubpf_ctx *ctx)
{
	return gpubpf_data_size();
}

char LICENSE[] SEC("license") = "GPL";
