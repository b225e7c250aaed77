/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up the allocation of an address that each launch passes as an integer. The map `made` lists allocations. */
#include <gpubpf/probe.h>

struct look {
	__u64 looks, known, size, kind, begins; /* begins: the allocation starts at this address */
	gpubpf_stack_number stack, unused;
};
GPUBPF_HASH(looks, __u64, struct look, 64); /* by launch */

GPUBPF_ALLOCATIONS(made, 2); /* only the report reads this table */

SEC("gpu/entry/look")
int look(struct gpubpf_ctx *ctx)
{
	struct gpubpf_allocation of;
	__u64 launch = ctx->launch;
	struct look l = { .looks = 1, .known = !gpubpf_allocation(ctx->arg[1], &of) };

	l.size = of.size;
	l.kind = of.kind;
	l.stack = of.stack;
	l.begins = l.known && of.base == ctx->arg[1];
	bpf_map_update_elem(&looks, &launch, &l, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
