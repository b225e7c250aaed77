/* SPDX-License-Identifier: Apache-2.0 */
/* For each kind of place: the number of events, the bytes that they access, and a sum over all other context fields. */
#ifndef GPUBPF_TESTS_CUDA_TOLD_H
#define GPUBPF_TESTS_CUDA_TOLD_H

#include <gpubpf/probe.h>

struct told {
	__u64 accesses, bytes, sum;
};

#define AT(place) (1u << GPUBPF_SITE_##place)
#define AT_ACCESSES                                                                                                      \
	(AT(MEM) | AT(MEM_BEFORE) | AT(MEM_SHARED) | AT(MEM_LOCAL) | AT(MEM_CONST) | AT(MEM_ALL) | AT(MEM_BEFORE_ALL) |  \
	 AT(MEM_CAPTURE) | AT(ATOMIC))
#define AT_BARRIERS (AT(BARRIER) | AT(BARRIER_EXIT))

/* Returns a sum over the context fields of the program's place. */
static __always_inline __u64 given(struct gpubpf_ctx *ctx, __u64 *bytes)
{
	__u32 at = 1u << ctx->site;
	__u64 sum = 0;

	if (at & AT_ACCESSES) {
		__atomic_fetch_add(bytes, ctx->mem.bytes, __ATOMIC_RELAXED);
		sum += ctx->mem.addr + 3 * ctx->mem.offset + 5 * ctx->mem.value[0] + 7 * ctx->mem.value[1] + 11 * ctx->mem.access +
		       13 * ctx->mem.space + 17 * ctx->mem.count;
	}
	if (at & (AT_ACCESSES | AT_BARRIERS | AT(BRANCH) | AT(INSN) | AT(MARK) | AT(LINE)))
		sum += 19 * ctx->line;
	if (at & AT_BARRIERS)
		sum += 23 * ctx->barrier.id + 29 * ctx->barrier.kind;
	if (at & AT(BRANCH))
		sum += 31 * ctx->branch.taken + 37 * ctx->branch.lanes + 41 * ctx->branch.active;
	if (at & AT(ATOMIC))
		sum += 43 * ctx->atomic.op + 47 * ctx->atomic.operand + 53 * ctx->atomic.old;
	if (at & AT(INSN))
		sum += 59 * ctx->operand[0] + 61 * ctx->operand[7];
	if (at & AT(MARK))
		sum += 67 * ctx->mark;
	return sum;
}

static __always_inline int tell(void *map, struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	struct told *t = bpf_map_lookup_elem(map, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->sum, given(ctx, &t->bytes), __ATOMIC_RELAXED);
	return 0;
}

#endif
