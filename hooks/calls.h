/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of calls in hooks that have not returned. A detach waits until no thread is in a hook. A call's stack address
 * selects its counter. Each counter has a cache line, so that threads do not contend.
 */
#ifndef GPUBPF_HOOKS_CALLS_H
#define GPUBPF_HOOKS_CALLS_H

#define GPUBPF_CALL_SHARDS 64       /* a power of two */
#define GPUBPF_CALL_STACK_SHIFT 14  /* addresses of 16 KiB of stack share a counter */
#define GPUBPF_CALL_SHARD_SHIFT 6   /* log2 of a counter's size */

#ifndef __ASSEMBLER__

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gpubpf_calls {
	struct {
		_Alignas(1 << GPUBPF_CALL_SHARD_SHIFT) atomic_long n;
	} shard[GPUBPF_CALL_SHARDS];
};

/* Returns the counter of a call whose frame is at this address. */
static inline atomic_long *gpubpf_calls_at(struct gpubpf_calls *calls, const void *frame)
{
	return &calls->shard[((uintptr_t)frame >> GPUBPF_CALL_STACK_SHIFT) % GPUBPF_CALL_SHARDS].n;
}

/* Wait until all calls have returned. Returns false if a call did not return within `ns`. */
bool gpubpf_calls_wait(const struct gpubpf_calls *calls, uint64_t ns);
/* In the child of a fork: no thread is in a hook. */
void gpubpf_calls_reset(struct gpubpf_calls *calls);

#endif
#endif
