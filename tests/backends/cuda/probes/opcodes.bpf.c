/* SPDX-License-Identifier: Apache-2.0 */
/* Probes the machine code of gpu/contexts/opcodes.cu: an instruction's operand, a line, and branches. */
#include <gpubpf/probe.h>

struct seen {
	__u64 times, sum;
};
GPUBPF_ARRAY(insns, struct seen, 1);
GPUBPF_ARRAY(lines, struct seen, 1);
GPUBPF_ARRAY(branches, struct seen, 1);
GPUBPF_ARRAY(wrong, struct seen, 1);

static __always_inline int see(void *map, __u64 n)
{
	struct seen *seen = bpf_map_lookup_elem(map, &(__u32){ 0 });

	if (!seen)
		return 0;
	__atomic_fetch_add(&seen->times, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&seen->sum, n, __ATOMIC_RELAXED);
	return 0;
}

SEC("gpu/insn/POPC") int insn(struct gpubpf_ctx *ctx) { return see(&insns, ctx->operand[1]); }
SEC("gpu/line/opcodes.cu:1000") int line(struct gpubpf_ctx *ctx) { return see(&lines, ctx->line); }

SEC("gpu/branch/*")
int branch(struct gpubpf_ctx *ctx)
{
	__u64 self = 1ull << (bpf_get_lane_id() & 63), lanes = ctx->branch.lanes, active = ctx->branch.active;
	int wrongly = !(active & self) || lanes & ~active || !(lanes & self) != !ctx->branch.taken;

	see(&wrong, wrongly);
	return see(&branches, ctx->branch.taken);
}

char LICENSE[] SEC("license") = "GPL";
