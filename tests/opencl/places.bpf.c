/* SPDX-License-Identifier: Apache-2.0 */
/* What accesses of memory give, added up for each kernel and kind of place. Offsets count from the kernel's first argument.
 * SOME: no places of all spaces, no values; LATE: no values before accesses; SYNC: atomics and barriers instead;
 * BRANCH: conditional branches too, of which those taken are told as barriers; END: a program that may end threads;
 * MARK: marks alone, whose values are told; LINES: lines alone; INSNS: instructions by their names, with the first three operands
 * (pointers as offsets), and all of them. */
#include <gpubpf/probe.h>

#define KERNELS 32
#define KINDS 32

struct told {
	__u64 accesses, bytes, loads, stores, atomics, prefetches, elements, spaces, values, offsets, lines;
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
	__atomic_fetch_add(&t->offsets, ctx->mem.addr - ctx->arg[0], __ATOMIC_RELAXED);
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
	__u32 key = ctx->kernel % KERNELS * KINDS + kind;
	struct told *t = bpf_map_lookup_elem(&told, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->operands, ctx->operand[0] - from, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->olds, ctx->operand[1], __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->values, ctx->operand[2], __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->lines, ctx->line, __ATOMIC_RELAXED);
	return 0;
}

SEC("gpu/insn/*") int all(struct gpubpf_ctx *ctx) { return insn(ctx, 15, 0); }
SEC("gpu/insn/OpFMul") int product(struct gpubpf_ctx *ctx) { return insn(ctx, 16, 0); }
SEC("gpu/insn/OpSelect") int chosen(struct gpubpf_ctx *ctx) { return insn(ctx, 17, 0); }
SEC("gpu/insn/OpVectorShuffle") int shuffled(struct gpubpf_ctx *ctx) { return insn(ctx, 18, 0); }
SEC("gpu/insn/OpStore") int stored(struct gpubpf_ctx *ctx) { return insn(ctx, 19, ctx->arg[0]); }
SEC("gpu/insn/OpExtInst.*max*") int larger(struct gpubpf_ctx *ctx) { return insn(ctx, 20, 0); }
SEC("gpu/insn/OpCompositeExtract") int extracted(struct gpubpf_ctx *ctx) { return insn(ctx, 21, 0); }
SEC("gpu/insn/Op*Branch*") int branched(struct gpubpf_ctx *ctx) { return insn(ctx, 22, 0); }
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
	__atomic_fetch_add(&t->barriers, ctx->barrier.kind + ctx->barrier.id, __ATOMIC_RELAXED);
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
	return wait_at(ctx, 11);
}
#endif
SEC("gpu/block_begin/*") int block_begin(struct gpubpf_ctx *ctx) { return wait_at(ctx, 10); }
SEC("gpu/barrier/*") int at_barrier(struct gpubpf_ctx *ctx) { return wait_at(ctx, 8); }
SEC("gpu/barrier_exit/*") int at_barrier_exit(struct gpubpf_ctx *ctx) { return wait_at(ctx, 9); }
#else
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
