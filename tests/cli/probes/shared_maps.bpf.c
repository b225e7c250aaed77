/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keyed maps and queues that programs of the Linux kernel and of the GPU share. A change by either side must reach the
 * other.
 */
#include <gpubpf/probe.h>

struct both {
	__u64 of_kernel, of_gpu;
};
struct prefix {
	__u32 length, bits;
};

GPUBPF_HASH(sums, __u32, __u64, 64);
GPUBPF_HASH(halves, __u32, __u32, 64);
GPUBPF_HASH(values, __u32, struct both, 64);
GPUBPF_HASH(small, __u32, __u64, 4);
GPUBPF_HASH(kernels_own, __u32, __u64, 16); /* only Linux kernel programs use this map */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} recent SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 64);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC */
	__type(key, struct prefix);
	__type(value, __u64);
} prefixes SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 64);
	__type(value, __u64);
} bloom SEC(".maps");
GPUBPF_ARRAY(seen, __u64, 1);
#define VALUES(map, map_type, n)             \
	struct {                             \
		__uint(type, map_type);      \
		__uint(max_entries, n);      \
		__type(value, __u64);        \
	} map SEC(".maps")
VALUES(to_gpu, BPF_MAP_TYPE_QUEUE, 4096);
VALUES(to_kernel, BPF_MAP_TYPE_QUEUE, 4096);
VALUES(to_reader, BPF_MAP_TYPE_QUEUE, 4096);
VALUES(heap, BPF_MAP_TYPE_STACK, 4096);
VALUES(both_take, BPF_MAP_TYPE_QUEUE, 16);
/* [0] values taken from to_gpu, [1] those out of order, [2] and [3] the same for to_kernel, [4] calls of on_pause() */
GPUBPF_ARRAY(taken, __u64, 5);
GPUBPF_MAP(cpu_hash, BPF_MAP_TYPE_PERCPU_HASH, __u32, __u64, 64);
GPUBPF_MAP(cpu_keys, BPF_MAP_TYPE_PERCPU_HASH, __u32, __u64, 64);
GPUBPF_MAP(cpu_recent, BPF_MAP_TYPE_LRU_PERCPU_HASH, __u32, __u64, 64);
GPUBPF_MAP(cpu_array, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, 4);

#define COUNT(map, key, n, type)                                                                                       \
	do {                                                                                                           \
		type zero = 0, *value;                                                                                 \
                                                                                                                       \
		bpf_map_update_elem(&map, &key, &zero, BPF_NOEXIST);                                                   \
		value = bpf_map_lookup_elem(&map, &key);                                                               \
		if (value)                                                                                             \
			__sync_fetch_and_add(value, n);                                                                \
	} while (0)

static __always_inline void add(__u32 key, __u64 n)
{
	COUNT(sums, key, n, __u64);
	COUNT(halves, key, (__u32)n, __u32);
	COUNT(recent, key, n, __u64);
	COUNT(cpu_hash, key, n, __u64);
	COUNT(cpu_recent, key, n, __u64);
	if (key < 4)
		COUNT(cpu_array, key, n, __u64);
}

static __always_inline void add_prefix(__u32 length, __u32 bits, __u64 n)
{
	struct prefix key = { length, bits };

	COUNT(prefixes, key, n, __u64);
}

/* Count a value taken from a queue. The values must arrive in the order 0, 1, 2, ... */
static __always_inline void check(__u32 at, __u64 value)
{
	__u32 wrong = at + 1;
	__u64 *n = bpf_map_lookup_elem(&taken, &at), *not = bpf_map_lookup_elem(&taken, &wrong);

	if (n && not && __sync_fetch_and_add(n, 1) != value)
		__sync_fetch_and_add(not, 1);
}

/* runs only once per launch, so that the queues do not overflow */
SEC("uprobe")
int on_pause(void *ctx)
{
	__u32 at = 4;
	__u64 value, last, *n = bpf_map_lookup_elem(&taken, &at);

	if (!n)
		return 0;
	last = __sync_fetch_and_add(n, 1);
	if (!bpf_map_pop_elem(&to_kernel, &value))
		check(2, value);
	bpf_map_push_elem(&to_gpu, &last, BPF_ANY);
	bpf_map_push_elem(&to_reader, &last, BPF_ANY);
	bpf_map_push_elem(&heap, &last, BPF_ANY);
	bpf_map_pop_elem(&both_take, &value);
	return 0;
}

SEC("uprobe")
int on_host(void *ctx)
{
	__u32 zero = 0, one = 1, index;
	__u64 last, *given;
	struct both none = {}, *value;

	add(0, 1000);
	add(1, 1);
	add_prefix(8, 10, 1000);
	COUNT(kernels_own, zero, 1, __u64);
	bpf_map_update_elem(&values, &zero, &none, BPF_NOEXIST);
	value = bpf_map_lookup_elem(&values, &zero);
	if (!value)
		return 0;
	last = __sync_fetch_and_add(&value->of_kernel, 1);
	/*
	 * Insert a key and delete the previous one. If another thread has already inserted the next key, delete this
	 * one at once.
	 */
	index = 100 + last;
	bpf_map_update_elem(&values, &index, &none, BPF_ANY);
	bpf_map_update_elem(&cpu_keys, &index, &last, BPF_ANY);
	if (*(volatile __u64 *)&value->of_kernel > last + 1) {
		bpf_map_delete_elem(&values, &index);
		bpf_map_delete_elem(&cpu_keys, &index);
	}
	index--;
	bpf_map_delete_elem(&values, &index);
	bpf_map_delete_elem(&cpu_keys, &index);
	bpf_map_push_elem(&bloom, &last, BPF_ANY);
	/* copy the value that the user stored at key 0 to key 1 */
	given = bpf_map_lookup_elem(&small, &zero);
	if (given)
		bpf_map_update_elem(&small, &one, given, BPF_ANY);
	return 0;
}

SEC("gpu/entry/step_*")
int on_entry(struct gpubpf_ctx *ctx)
{
	__u32 zero = 0;
	__u64 given;
	struct both *value;

	if (ctx->global_linear)
		return 0;
	given = ctx->launch;
	bpf_map_push_elem(&to_kernel, &given, BPF_ANY);
	given += 1000000;
	bpf_map_push_elem(&to_reader, &given, BPF_ANY);
	bpf_map_pop_elem(&both_take, &given);
	if (!bpf_map_pop_elem(&to_gpu, &given))
		check(0, given);
	/*
	 * The tool copies values of Linux kernel programs to the GPU after some milliseconds, so the first launches may
	 * find none.
	 */
	value = bpf_map_lookup_elem(&values, &zero);
	if (!value)
		return 0;
	value->of_gpu = ctx->launch + 1;
	bpf_map_update_elem(&seen, &zero, &value->of_kernel, BPF_ANY);
	return 0;
}

SEC("gpu/exit/step_*")
int on_gpu(struct gpubpf_ctx *ctx)
{
	__u64 n = ctx->global_linear;

	add(0, 1);
	add(2 + ctx->global_linear % 4, 1);
	add_prefix(8, 10, 1);
	add_prefix(32, 10 + 256 * (ctx->global_linear % 4), 1);
	bpf_map_push_elem(&bloom, &n, BPF_ANY);
	return 0;
}
