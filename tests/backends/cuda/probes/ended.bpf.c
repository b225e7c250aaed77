/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the ends of blocks. The object has no other program. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(ended, __u64, 1);

SEC("gpu/block_end/*")
int end(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&ended, 0, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
