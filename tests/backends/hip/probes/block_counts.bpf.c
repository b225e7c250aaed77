/* SPDX-License-Identifier: Apache-2.0 */
/* Counts blocks that begin and blocks that end. tests/backends/hip/programs/run.py checks the counts. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(blocks, __u64, 2);

static int count(__u32 which)
{
	__u64 *n = bpf_map_lookup_elem(&blocks, &which);

	if (n)
		gpubpf_count(n, 1);
	return 0;
}

SEC("gpu/block_begin/*") int begins(struct gpubpf_ctx *ctx) { return count(0); }
SEC("gpu/block_end/*") int ends(struct gpubpf_ctx *ctx) { return count(1); }
