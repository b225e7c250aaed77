/* SPDX-License-Identifier: Apache-2.0 */
/* Shows which addresses atomic accesses contend for. Counts the atomic accesses of each address and kernel. */
#include <gpubpf/probe.h>

struct spot {
	gpubpf_address addr;
	gpubpf_kernel kernel;
};
struct GPUBPF_ROW atomics {
	__u64 atomics;
	__u32 bytes, space; /* space: 1 global, 2 shared (local in OpenCL) */
};
GPUBPF_HASH(spots, struct spot, struct atomics, 65536);
GPUBPF_ARRAY(missed, __u64, 1); /* atomic accesses that were not counted because `spots` was full */

SEC("gpu/atomic/*")
int atomic(struct gpubpf_ctx *ctx)
{
	struct spot key = { ctx->mem.addr, gpubpf_kernel_of(ctx) };
	struct atomics *a = bpf_map_lookup_elem(&spots, &key), none = {};

	if (!a) {
		none.bytes = ctx->mem.bytes;
		none.space = ctx->mem.space;
		/* fails harmlessly if another lane inserts it first */
		bpf_map_update_elem(&spots, &key, &none, BPF_NOEXIST);
		a = bpf_map_lookup_elem(&spots, &key);
	}
	if (a)
		gpubpf_count(&a->atomics, 1);
	else
		gpubpf_add(&missed, 0, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
