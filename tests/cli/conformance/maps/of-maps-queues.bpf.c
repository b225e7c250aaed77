/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads push and pop values of queues and stacks that are inner maps. Neighbouring threads use different inner
 * maps. Each value is popped exactly once, from the inner map into which a thread pushed it.
 */
#include "../case.h"

EXPECT("launch 8,1,1 32,1,1");
EXPECT("checks 2048");

#define MAPS 4

#define VALUES(name, of)                    \
	struct name {                       \
		__uint(type, of);           \
		__uint(max_entries, 64);    \
		__uint(key_size, 0);        \
		__type(value, __u64);       \
	}
VALUES(of_queue, BPF_MAP_TYPE_QUEUE) queue0 SEC(".maps"), queue1 SEC(".maps"), queue2 SEC(".maps"), queue3 SEC(".maps");
VALUES(of_stack, BPF_MAP_TYPE_STACK) stack0 SEC(".maps"), stack1 SEC(".maps"), stack2 SEC(".maps"), stack3 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAPS);
	__type(key, __u32);
	__array(values, struct of_queue);
} queues SEC(".maps") = { .values = { &queue0, &queue1, &queue2, &queue3 } };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MAPS);
	__type(key, __u32);
	__array(values, struct of_stack);
} stacks SEC(".maps") = { .values = { &stack0, &stack1, &stack2, &stack3 } };

GPUBPF_ARRAY(from_queues, __u64, 256);
GPUBPF_ARRAY(from_stacks, __u64, 256);

SEC("gpu/entry/*")
int put(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->global_linear;
	__u32 at = me % MAPS;
	void *queue = bpf_map_lookup_elem(&queues, &at), *stack = bpf_map_lookup_elem(&stacks, &at);

	CHECK(queue && !bpf_map_push_elem(queue, &me, BPF_ANY), 1);
	CHECK(stack && !bpf_map_push_elem(stack, &me, BPF_ANY), 1);
	return 0;
}

static __always_inline void count(void *map, __u64 value, __u32 at)
{
	__u32 key = value;
	__u64 *times = bpf_map_lookup_elem(map, &key);

	CHECK(value < 256 && value % MAPS == at, 1);
	CHECK(times && __sync_fetch_and_add(times, 1) == 0, 1);
}

/* Each thread pops one value per map type, as many as put() pushed, so no pop finds an empty map. */
SEC("gpu/entry/*")
int take(struct gpubpf_ctx *ctx)
{
	__u32 at = ctx->global_linear % MAPS;
	void *queue = bpf_map_lookup_elem(&queues, &at), *stack = bpf_map_lookup_elem(&stacks, &at);
	__u64 first = ~0ull, last = ~0ull;

	CHECK(queue && !bpf_map_pop_elem(queue, &first), 1);
	count(&from_queues, first, at);
	CHECK(stack && !bpf_map_pop_elem(stack, &last), 1);
	count(&from_stacks, last, at);
	return 0;
}
