/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the lanes at the places of named.cu, and adds up the context fields of these places. */
#include <gpubpf/probe.h>

struct seen {
	__u64 times, sum;
};
GPUBPF_ARRAY(insns, struct seen, 1);
GPUBPF_ARRAY(lines, struct seen, 1);
GPUBPF_ARRAY(marks, struct seen, 1);

static __always_inline int see(void *map, __u64 n)
{
	struct seen *seen = bpf_map_lookup_elem(map, &(__u32){ 0 });

	if (!seen)
		return 0;
	__atomic_fetch_add(&seen->times, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&seen->sum, n, __ATOMIC_RELAXED);
	return 0;
}

SEC("gpu/insn/sad.*") int insn(struct gpubpf_ctx *ctx) { return see(&insns, ctx->operand[2]); }
SEC("gpu/line/named.cu:1000") int line(struct gpubpf_ctx *ctx) { return see(&lines, ctx->line); }
SEC("gpu/mark/step") int mark(struct gpubpf_ctx *ctx) { return see(&marks, ctx->mark); }

char LICENSE[] SEC("license") = "GPL";
