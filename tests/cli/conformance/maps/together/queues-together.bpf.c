/* SPDX-License-Identifier: Apache-2.0 */
/* All threads push values into a QUEUE and a STACK, and pop them. Each value is popped exactly once from each map. */
#include "../../case.h"

EXPECT("launch 8,1,1 32,1,1");
EXPECT("checks 1536");

#define VALUES(name, of)                    \
	struct {                            \
		__uint(type, of);           \
		__uint(max_entries, 256);   \
		__uint(key_size, 0);        \
		__type(value, __u64);       \
	} name SEC(".maps")
VALUES(queue, BPF_MAP_TYPE_QUEUE);
VALUES(stack, BPF_MAP_TYPE_STACK);
GPUBPF_ARRAY(from_queue, __u64, 256);
GPUBPF_ARRAY(from_stack, __u64, 256);

SEC("gpu/entry/*")
int put(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->global_linear;

	CHECK(bpf_map_push_elem(&queue, &me, BPF_ANY), 0);
	CHECK(bpf_map_push_elem(&stack, &me, BPF_ANY), 0);
	return 0;
}

static __always_inline void count(void *map, __u64 value)
{
	__u32 key = value;
	__u64 *times = bpf_map_lookup_elem(map, &key);

	CHECK(value < 256 && times && __sync_fetch_and_add(times, 1) == 0, 1);
}

/* Each thread pops one value per map, as many as were pushed, so no pop finds an empty map. */
SEC("gpu/entry/*")
int take(struct gpubpf_ctx *ctx)
{
	__u64 first = ~0ull, last = ~0ull;

	CHECK(bpf_map_pop_elem(&queue, &first), 0);
	count(&from_queue, first);
	CHECK(bpf_map_pop_elem(&stack, &last), 0);
	count(&from_stack, last);
	return 0;
}
