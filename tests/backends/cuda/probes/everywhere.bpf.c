/* SPDX-License-Identifier: Apache-2.0 */
/* One object with a counting program for each kind of place that machine code has. */
#include <gpubpf/probe.h>

struct told {
	__u64 accesses;
};

GPUBPF_ARRAY(begins, struct told, 1);
GPUBPF_ARRAY(entries, struct told, 1);
GPUBPF_ARRAY(exits, struct told, 1);
GPUBPF_ARRAY(calls, struct told, 1);
GPUBPF_ARRAY(returns, struct told, 1);
GPUBPF_ARRAY(after, struct told, 1);
GPUBPF_ARRAY(before, struct told, 1);
GPUBPF_ARRAY(constants, struct told, 1);
GPUBPF_ARRAY(atomics, struct told, 1);
GPUBPF_ARRAY(waits, struct told, 1);
GPUBPF_ARRAY(waited, struct told, 1);
GPUBPF_ARRAY(branches, struct told, 1);
GPUBPF_ARRAY(insns, struct told, 1);
GPUBPF_ARRAY(lines, struct told, 1);

static __always_inline int see(void *map)
{
	struct told *t = bpf_map_lookup_elem(map, &(__u32){ 0 });

	if (t)
		__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	return 0;
}

SEC("gpu/block_begin/*") int begin(struct gpubpf_ctx *ctx) { return see(&begins); }
SEC("gpu/entry/*") int entry(struct gpubpf_ctx *ctx) { return see(&entries); }
SEC("gpu/exit/*") int exited(struct gpubpf_ctx *ctx) { return see(&exits); }
SEC("gpu/call/*") int call(struct gpubpf_ctx *ctx) { return see(&calls); }
SEC("gpu/call_exit/*") int returned(struct gpubpf_ctx *ctx) { return see(&returns); }
SEC("gpu/mem.all/*") int mem(struct gpubpf_ctx *ctx) { return see(&after); }
SEC("gpu/mem_before.all/*") int mem_before(struct gpubpf_ctx *ctx) { return see(&before); }
SEC("gpu/mem.const/*") int constant(struct gpubpf_ctx *ctx) { return see(&constants); }
SEC("gpu/atomic/*") int atomic(struct gpubpf_ctx *ctx) { return see(&atomics); }
SEC("gpu/barrier/*") int wait_at(struct gpubpf_ctx *ctx) { return see(&waits); }
SEC("gpu/barrier_exit/*") int waited_at(struct gpubpf_ctx *ctx) { return see(&waited); }
SEC("gpu/branch/*") int branch(struct gpubpf_ctx *ctx) { return see(&branches); }
SEC("gpu/insn/*") int insn(struct gpubpf_ctx *ctx) { return see(&insns); }
SEC("gpu/line/*") int line(struct gpubpf_ctx *ctx) { return see(&lines); }

char LICENSE[] SEC("license") = "GPL";
