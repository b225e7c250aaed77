/* SPDX-License-Identifier: Apache-2.0 */
/* One program, at global accesses, only adds to a map. The other, at all accesses, has effects that threads can see. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(bytes, __u64, 1);
GPUBPF_ARRAY(last, __u64, 1);

SEC("gpu/mem/*")
int adds(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&bytes, 0, ctx->mem.bytes);
	return 0;
}

SEC("gpu/mem.all/*")
int shows(struct gpubpf_ctx *ctx)
{
	__u64 addr = ctx->mem.addr;
	__u32 key = 0;

	bpf_map_update_elem(&last, &key, &addr, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
