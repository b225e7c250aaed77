/* SPDX-License-Identifier: Apache-2.0 */
/* Shows which addresses atomics contend for: how many atomics each address has, and from which kernel. */
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
GPUBPF_ARRAY(missed, __u64, 1); /* atomics at addresses for which the map had no room */

SEC("gpu/atomic/*")
int atomic(struct gpubpf_ctx *ctx)
{
	struct spot key = { ctx->mem.addr, gpubpf_kernel_of(ctx) };
	struct atomics *a = bpf_map_lookup_elem(&spots, &key), none = {};

	if (!a) {
		none.bytes = ctx->mem.bytes;
		none.space = ctx->mem.space;
		bpf_map_update_elem(&spots, &key, &none, BPF_NOEXIST); /* another lane may insert it first: also fine */
		a = bpf_map_lookup_elem(&spots, &key);
	}
	if (a)
		gpubpf_count(&a->atomics, 1);
	else
		gpubpf_add(&missed, 0, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
