/* SPDX-License-Identifier: Apache-2.0 */
/* Programs at all places of machine code at once: each counts. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(seen, __u64, 12);

static __always_inline int see(__u32 which)
{
	__u64 *seen_there = bpf_map_lookup_elem(&seen, &which);

	if (seen_there)
		__atomic_fetch_add(seen_there, 1, __ATOMIC_RELAXED);
	return 0;
}

SEC("gpu/entry/*") int entry(struct gpubpf_ctx *ctx) { return see(0); }
SEC("gpu/exit/*") int exited(struct gpubpf_ctx *ctx) { return see(1); }
SEC("gpu/mem.all/*") int mem(struct gpubpf_ctx *ctx) { return see(2); }
SEC("gpu/mem_before.all/*") int mem_before(struct gpubpf_ctx *ctx) { return see(3); }
SEC("gpu/mem.const/*") int constants(struct gpubpf_ctx *ctx) { return see(4); }
SEC("gpu/atomic/*") int atomics(struct gpubpf_ctx *ctx) { return see(5); }
SEC("gpu/barrier/*") int before_barrier(struct gpubpf_ctx *ctx) { return see(6); }
SEC("gpu/barrier_exit/*") int barrier_exit(struct gpubpf_ctx *ctx) { return see(7); }
SEC("gpu/branch/*") int branch(struct gpubpf_ctx *ctx) { return see(8); }
SEC("gpu/insn/*") int insn(struct gpubpf_ctx *ctx) { return see(9); }
SEC("gpu/line/*") int line(struct gpubpf_ctx *ctx) { return see(10); }

char LICENSE[] SEC("license") = "GPL";
