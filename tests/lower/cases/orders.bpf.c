/* SPDX-License-Identifier: Apache-2.0 */
/* An acquire load is followed by a fence, a release store preceded by one; neither is accumulated. */
/* mcpu v4 */
/* expect ptx 2 ld\.volatile\.global[^;]*;\s+//[^\n]*\n\s+fence\.acq_rel\.gpu */
/* expect ptx 1 fence\.acq_rel\.gpu;\s+//[^\n]*\n\s+st\.volatile\.global */
/* expect spirv 2 OpLoad .* Volatile.*\n\s+OpMemoryBarrier */
/* expect spirv 1 OpMemoryBarrier .*\n\s+OpStore .* Volatile */
/* expect clc 2 = GPUBPF_GLOB\(volatile .*; gpubpf_fence\(\); } */
/* expect clc 1 { gpubpf_fence\(\); GPUBPF_GLOB\(volatile */
#include <gpubpf/probe.h>

struct cells {
	__u64 ready, data;
	__u16 narrow;
};

GPUBPF_ARRAY(cells, struct cells, 1);

SEC("gpu/entry/*")
int orders(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	struct cells *c = bpf_map_lookup_elem(&cells, &key);

	if (!c)
		return 0;
	c->data = __atomic_load_n(&c->narrow, __ATOMIC_ACQUIRE);
	__atomic_store_n(&c->ready, __atomic_load_n(&c->ready, __ATOMIC_ACQUIRE) + 1, __ATOMIC_RELEASE);
	return 0;
}
