/* SPDX-License-Identifier: Apache-2.0 */
/* Every atomic operation on map memory, with 32 and 64 bits. */
#include <gpubpf/probe.h>

struct cells {
	__u64 wide[8];
	__u32 narrow[8];
};

GPUBPF_ARRAY(cells, struct cells, 1);

#define EACH(p, v)                                                             \
	do {                                                                   \
		__sync_fetch_and_add(&(p)[0], v);                              \
		sum += __sync_fetch_and_add(&(p)[1], v);                       \
		sum += __sync_fetch_and_or(&(p)[2], v);                        \
		sum += __sync_fetch_and_and(&(p)[3], v);                       \
		sum += __sync_fetch_and_xor(&(p)[4], v);                       \
		sum += __sync_lock_test_and_set(&(p)[5], v);                   \
		sum += __sync_val_compare_and_swap(&(p)[6], v, 9);             \
		asm volatile("" ::: "memory");                                 \
		__sync_fetch_and_or(&(p)[7], v);                               \
	} while (0)

SEC("gpu/entry/*")
int atomics(struct gpubpf_ctx *ctx)
{
	__u64 sum = 0;
	__u32 key = 0;
	struct cells *c = bpf_map_lookup_elem(&cells, &key);

	if (!c)
		return 0;
	EACH(c->wide, ctx->thread_idx[0]);
	EACH(c->narrow, (__u32)ctx->thread_idx[0]);
	c->wide[0] = sum;
	return 0;
}
