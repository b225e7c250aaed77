/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of the context of memory accesses, per kernel and kind of place. Offsets are relative to the kernel's first
 * argument. Accesses with the program __memcapture are counted separately. Macros select variants. SOME omits values
 * and the places gpu/mem.all and gpu/mem_before.all. LATE omits values before accesses. SYNC has atomics and barriers
 * instead. With BRANCH it also has conditional branches, and `barriers` counts the taken ones. ENDS has entries, exits,
 * begins and ends of blocks. END has a program that may end threads. MARK has marks, LINES has lines. INSNS has named
 * instructions with three operands, and all instructions. CALLS has calls and returns with two arguments and the
 * result. PLAIN counts accesses and reads no context. */
#include <gpubpf/probe.h>

#define KERNELS 32
#define KINDS 32

struct told {
	__u64 accesses, bytes, loads, stores, atomics, prefetches, elements, spaces, values, offsets, lines, hints;
	__u64 ops, operands, olds, barriers;
};
GPUBPF_ARRAY(told, struct told, KINDS * KERNELS);

static __always_inline int tell(struct gpubpf_ctx *ctx, __u32 kind)
{
	__u32 key = ctx->kernel % KERNELS * KINDS + kind;
	struct told *t = bpf_map_lookup_elem(&told, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->bytes, ctx->mem.bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->loads, ctx->mem.access == GPUBPF_LOAD, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->stores, ctx->mem.access == GPUBPF_STORE, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->atomics, ctx->mem.access == GPUBPF_ATOMIC, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->prefetches, ctx->mem.access == GPUBPF_PREFETCH, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->elements, ctx->mem.count, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->spaces, ctx->mem.space, __ATOMIC_RELAXED);
#ifdef LATE
	if (kind != 1 && kind != 6)
#endif
#ifndef SOME
	__atomic_fetch_add(&t->values, ctx->mem.value[0] + 3 * ctx->mem.value[1], __ATOMIC_RELAXED);
#endif
	__atomic_fetch_add(&t->hints, ctx->mem.hint, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->offsets, ctx->mem.addr - ctx->arg[0], __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->lines, ctx->line, __ATOMIC_RELAXED);
	return 0;
}

static __always_inline int operands(struct gpubpf_ctx *ctx, __u32 kind, __u64 first, __u64 second, __u64 third)
{
	__u32 key = ctx->kernel % KERNELS * KINDS + kind;
	struct told *t = bpf_map_lookup_elem(&told, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->operands, first, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->olds, second, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->values, third, __ATOMIC_RELAXED);
	if (ctx->site != GPUBPF_SITE_CALL && ctx->site != GPUBPF_SITE_CALL_EXIT)
		__atomic_fetch_add(&t->lines, ctx->line, __ATOMIC_RELAXED);
	return 0;
}

#ifdef MARK
SEC("gpu/mark/*") int mark(struct gpubpf_ctx *ctx)
{
	__u32 key = ctx->kernel % KERNELS * KINDS + 12;
	struct told *t = bpf_map_lookup_elem(&told, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->values, ctx->mark, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->lines, ctx->line, __ATOMIC_RELAXED);
	return 0;
}
#elif defined(INSNS)
static __always_inline int insn(struct gpubpf_ctx *ctx, __u32 kind, __u64 from)
{
	return operands(ctx, kind, ctx->operand[0] - from, ctx->operand[1], ctx->operand[2]);
}

SEC("gpu/insn/*") int all(struct gpubpf_ctx *ctx) { return insn(ctx, 15, 0); }
SEC("gpu/insn/OpFMul") int product(struct gpubpf_ctx *ctx) { return insn(ctx, 16, 0); }
SEC("gpu/insn/OpSelect") int chosen(struct gpubpf_ctx *ctx) { return insn(ctx, 17, 0); }
SEC("gpu/insn/OpVectorShuffle") int shuffled(struct gpubpf_ctx *ctx) { return insn(ctx, 18, 0); }
SEC("gpu/insn/OpStore") int stored(struct gpubpf_ctx *ctx) { return insn(ctx, 19, ctx->arg[0]); }
SEC("gpu/insn/OpExtInst.*max*") int larger(struct gpubpf_ctx *ctx) { return insn(ctx, 20, 0); }
SEC("gpu/insn/OpCompositeExtract") int extracted(struct gpubpf_ctx *ctx) { return insn(ctx, 21, 0); }
SEC("gpu/insn/Op*Branch*") int branched(struct gpubpf_ctx *ctx) { return insn(ctx, 22, 0); }
#elif defined(ENDS)
/* number of lanes that have exited, by kernel and block; when a block ends, all lanes that entered it have exited */
GPUBPF_HASH(inside, __u64, __u64, 4096);

static __always_inline __u64 *block_of(struct gpubpf_ctx *ctx)
{
	__u64 none = 0, key = ctx->kernel << 32 | ctx->block_idx[2] << 20 | ctx->block_idx[1] << 10 | ctx->block_idx[0];

	bpf_map_update_elem(&inside, &key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&inside, &key);
}

static __always_inline int note(struct gpubpf_ctx *ctx, __u32 kind)
{
	__u32 key = ctx->kernel % KERNELS * KINDS + kind;
	struct told *t = bpf_map_lookup_elem(&told, &key);
	__u64 *n = block_of(ctx);

	if (!t || !n)
		return 0;
	__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->values, *(volatile __u64 *)n, __ATOMIC_RELAXED);
	return 0;
}

GPUBPF_ARRAY(entered, __u64, 1);

SEC("gpu/entry/*") int enter(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&entered, 0, 1); /* this program does not read ctx->kernel; the others do */
	return 0;
}

SEC("gpu/block_begin/*") int begin(struct gpubpf_ctx *ctx) { return note(ctx, 10); }
SEC("gpu/block_end/*") int end(struct gpubpf_ctx *ctx) { return note(ctx, 29); }
SEC("gpu/exit/*") int leave(struct gpubpf_ctx *ctx)
{
	__u64 *n = block_of(ctx);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}
#elif defined(CALLS)
static __always_inline int call(struct gpubpf_ctx *ctx, __u32 kind, __u64 result)
{
	return operands(ctx, kind, ctx->arg[0], ctx->arg[1], result);
}

SEC("gpu/call/*") int called(struct gpubpf_ctx *ctx) { return call(ctx, 23, ctx->nargs); }
SEC("gpu/call_exit/*") int returned(struct gpubpf_ctx *ctx) { return call(ctx, 24, ctx->result); }
SEC("gpu/call/sum") int called_sum(struct gpubpf_ctx *ctx) { return call(ctx, 25, 0); }
SEC("gpu/call_exit/sum") int returned_sum(struct gpubpf_ctx *ctx) { return call(ctx, 26, ctx->result); }
SEC("gpu/call_exit/scaled") int returned_scaled(struct gpubpf_ctx *ctx) { return call(ctx, 27, ctx->result); }
SEC("gpu/call_exit/pair*") int returned_pair(struct gpubpf_ctx *ctx) { return call(ctx, 28, ctx->result); }
#elif defined(LINES)
static __always_inline int comes(struct gpubpf_ctx *ctx, __u32 kind)
{
	__u32 key = ctx->kernel % KERNELS * KINDS + kind;
	struct told *t = bpf_map_lookup_elem(&told, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->lines, ctx->line, __ATOMIC_RELAXED);
	return 0;
}

SEC("gpu/line/*") int line(struct gpubpf_ctx *ctx) { return comes(ctx, 13); }
SEC("gpu/line/begin.cl:5") int one(struct gpubpf_ctx *ctx) { return comes(ctx, 14); }
#elif defined(PLAIN)
SEC("gpu/mem/*") int plain(struct gpubpf_ctx *ctx)
{
	__u32 key = ctx->kernel % KERNELS * KINDS + 31;
	struct told *t = bpf_map_lookup_elem(&told, &key);

	if (t)
		__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	return 0;
}
#elif defined(END)
SEC("gpu/mem/*") int mem(struct gpubpf_ctx *ctx)
{
	if (ctx->mem.bytes == 3)
		bpf_exit_thread();
	return tell(ctx, 0);
}
#elif defined(SYNC)
static __always_inline int wait_at(struct gpubpf_ctx *ctx, __u32 kind)
{
	__u32 key = ctx->kernel % KERNELS * KINDS + kind;
	struct told *t = bpf_map_lookup_elem(&told, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	if (ctx->site == GPUBPF_SITE_BARRIER || ctx->site == GPUBPF_SITE_BARRIER_EXIT)
		__atomic_fetch_add(&t->barriers, ctx->barrier.kind + ctx->barrier.id, __ATOMIC_RELAXED);
	if (ctx->site != GPUBPF_SITE_BLOCK_BEGIN && ctx->site != GPUBPF_SITE_BLOCK_END)
		__atomic_fetch_add(&t->lines, ctx->line, __ATOMIC_RELAXED);
	return 0;
}

SEC("gpu/atomic/*") int at_atomic(struct gpubpf_ctx *ctx)
{
	__u32 key = ctx->kernel % KERNELS * KINDS + 7;
	struct told *t = bpf_map_lookup_elem(&told, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->ops, ctx->atomic.op, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->operands, ctx->atomic.operand, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->olds, ctx->atomic.old, __ATOMIC_RELAXED);
	return tell(ctx, 7);
}
#ifdef BRANCH
SEC("gpu/branch/*") int at_branch(struct gpubpf_ctx *ctx)
{
	__u32 key = ctx->kernel % KERNELS * KINDS + 11;
	struct told *t = bpf_map_lookup_elem(&told, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->barriers, ctx->branch.taken, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->ops, ctx->branch.active == 1ull << (bpf_get_lane_id() & 63), __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->operands, ctx->branch.lanes == bpf_warp_ballot(ctx->branch.taken), __ATOMIC_RELAXED);
	return wait_at(ctx, 11);
}
#endif
SEC("gpu/block_begin/*") int block_begin(struct gpubpf_ctx *ctx) { return wait_at(ctx, 10); }
SEC("gpu/barrier/*") int at_barrier(struct gpubpf_ctx *ctx) { return wait_at(ctx, 8); }
SEC("gpu/barrier_exit/*") int at_barrier_exit(struct gpubpf_ctx *ctx) { return wait_at(ctx, 9); }
#else
SEC("kprobe/__memcapture") int capture(struct pt_regs *regs)
{
	struct gpubpf_ctx *ctx = (struct gpubpf_ctx *)regs; /* the context that starts here */
	__u32 key = ctx->kernel % KERNELS * KINDS + 30;
	struct told *t = bpf_map_lookup_elem(&told, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->bytes, PT_REGS_PARM2(regs), __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->loads, PT_REGS_PARM3(regs) == GPUBPF_LOAD, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->stores, PT_REGS_PARM3(regs) == GPUBPF_STORE, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->atomics, PT_REGS_PARM3(regs) == GPUBPF_ATOMIC, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->prefetches, PT_REGS_PARM3(regs) == GPUBPF_PREFETCH, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->offsets, PT_REGS_PARM1(regs) == ctx->mem.addr, __ATOMIC_RELAXED);
	return 0;
}
SEC("gpu/mem/*") int mem(struct gpubpf_ctx *ctx) { return tell(ctx, 0); }
SEC("gpu/mem_before/*") int mem_before(struct gpubpf_ctx *ctx) { return tell(ctx, 1); }
SEC("gpu/mem.shared/*") int mem_shared(struct gpubpf_ctx *ctx) { return tell(ctx, 2); }
SEC("gpu/mem.local/*") int mem_local(struct gpubpf_ctx *ctx) { return tell(ctx, 3); }
SEC("gpu/mem.const/*") int mem_const(struct gpubpf_ctx *ctx) { return tell(ctx, 4); }
#ifndef SOME
SEC("gpu/mem.all/*") int mem_all(struct gpubpf_ctx *ctx) { return tell(ctx, 5); }
SEC("gpu/mem_before.all/*") int mem_before_all(struct gpubpf_ctx *ctx) { return tell(ctx, 6); }
#endif
#endif

char LICENSE[] SEC("license") = "GPL";
