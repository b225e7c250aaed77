/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of 12 bytes is aligned to 4 bytes only. */
#include <gpubpf/probe.h>

SEC("gpu/run/misaligned") int misaligned(struct gpubpf_ctx *ctx)
{
	__u64 *word = gpubpf_data(0, 12);

	return word ? *word : 0;
}

char LICENSE[] SEC("license") = "GPL";
