/* SPDX-License-Identifier: Apache-2.0 */
/* Of a kind of place: how many, bytes, and a sum over all else that it gives. */
#ifndef GPUBPF_TESTS_CUDA_TOLD_H
#define GPUBPF_TESTS_CUDA_TOLD_H

#include <gpubpf/probe.h>

struct told {
	__u64 accesses, bytes, sum;
};

static __always_inline int tell(void *map, struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	struct told *t = bpf_map_lookup_elem(map, &key);

	if (!t)
		return 0;
	__atomic_fetch_add(&t->accesses, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->bytes, ctx->mem.bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->sum, ctx->mem.addr + 3 * ctx->mem.offset + 5 * ctx->mem.value[0] + 7 * ctx->mem.value[1] +
			   11 * ctx->mem.access + 13 * ctx->mem.space + 17 * ctx->mem.count + 19 * ctx->line +
			   23 * ctx->barrier.id + 29 * ctx->barrier.kind + 31 * ctx->branch.taken + 37 * ctx->branch.lanes +
			   41 * ctx->branch.active + 43 * ctx->atomic.op + 47 * ctx->atomic.operand + 53 * ctx->atomic.old +
			   59 * ctx->operand[0] + 61 * ctx->operand[7] + 67 * ctx->mark, __ATOMIC_RELAXED);
	return 0;
}

#endif
