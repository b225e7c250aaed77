/* SPDX-License-Identifier: Apache-2.0 */
#include "../told.h"

struct narrow {
	__u32 accesses, bytes;
};
GPUBPF_ARRAY(halves, struct narrow, 1);
GPUBPF_ARRAY(at_once, struct told, 1);
GPUBPF_ARRAY(atomics, struct told, 1);
GPUBPF_ARRAY(barriers, struct told, 1);
GPUBPF_ARRAY(passed, struct told, 1);
GPUBPF_ARRAY(shown, __u64, 1);
GPUBPF_ARRAY(branches, struct told, 1);
GPUBPF_ARRAY(begun, struct told, 1);
GPUBPF_ARRAY(ended, struct told, 1);
GPUBPF_ARRAY(captured, struct told, 1);
GPUBPF_ARRAY(insns, struct told, 1);
GPUBPF_ARRAY(lines, struct told, 1);
GPUBPF_ARRAY(marks, struct told, 1);
GPUBPF_ARRAY(keyed, __u64, 64);
GPUBPF_ARRAY(less, __u64, 64);

SEC("gpu/mem.shared/*")
int narrow(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	struct narrow *t = bpf_map_lookup_elem(&halves, &key);

	if (t) {
		__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&t->bytes, ctx->mem.bytes, __ATOMIC_RELAXED);
	}
	return 0;
}

/* adds to the sums before a fence, after which other threads may read the sums */
SEC("gpu/mem.local/*")
int shows(struct gpubpf_ctx *ctx)
{
	tell(&at_once, ctx);
	bpf_gpu_membar();
	return 0;
}

/* adds to the sums before a release store, which publishes the sums */
SEC("gpu/barrier_exit/*")
int goes_on(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	__u64 *is = bpf_map_lookup_elem(&shown, &key);

	tell(&passed, ctx);
	if (is)
		__atomic_store_n(is, 1, __ATOMIC_RELEASE);
	return 0;
}

SEC("gpu/atomic/*") int atomic(struct gpubpf_ctx *ctx) { return tell(&atomics, ctx); }
SEC("gpu/barrier/*") int waits(struct gpubpf_ctx *ctx) { return tell(&barriers, ctx); }
SEC("gpu/branch/*") int branch(struct gpubpf_ctx *ctx) { return tell(&branches, ctx); }
SEC("gpu/block_begin/*") int begins(struct gpubpf_ctx *ctx) { return tell(&begun, ctx); }
SEC("gpu/block_end/*") int ends(struct gpubpf_ctx *ctx) { return tell(&ended, ctx); }
/* written like programs of bpftime */
SEC("kprobe/__memcapture")
int capture(struct pt_regs *ctx)
{
	__u32 key = 0;
	struct told *t = bpf_map_lookup_elem(&captured, &key);

	if (t) {
		__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&t->bytes, PT_REGS_PARM2(ctx), __ATOMIC_RELAXED);
		__atomic_fetch_add(&t->sum, PT_REGS_PARM1(ctx) + 11 * PT_REGS_PARM3(ctx) + PT_REGS_PARM4(ctx), __ATOMIC_RELAXED);
	}
	return 0;
}

/* adds large numbers for some keys: in loops the pass accumulates adds of a key only while their sum fits in 32 bits */
SEC("gpu/mem_before.all/*")
int by_offset(struct gpubpf_ctx *ctx)
{
	__u64 key = ctx->mem.offset >> 5 & 63;

	gpubpf_add(&keyed, key, ctx->mem.bytes * (key & 2 ? 0x155555555ull : 0x15555555));
	return 0;
}

/* subtracts one: the pass never accumulates this add, because its operand does not fit in 32 bits */
SEC("gpu/insn/*")
int insn(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&less, ctx->place & 63, -1ull);
	return tell(&insns, ctx);
}

SEC("gpu/line/*") int line(struct gpubpf_ctx *ctx) { return tell(&lines, ctx); }
SEC("gpu/mark/*") int mark(struct gpubpf_ctx *ctx) { return tell(&marks, ctx); }

char LICENSE[] SEC("license") = "GPL";
