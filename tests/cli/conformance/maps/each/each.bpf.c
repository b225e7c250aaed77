/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_for_each_map_elem() (helper 164) visits each element once, until the callback returns 1, and allows deletions
 * meanwhile.
 */
#include "each.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 17");
EXPECT("map array[2] 22");
EXPECT("map table[3] 105");
EXPECT("map copied[5] 107");
EXPECT("entries gone 2");

GPUBPF_ARRAY(array, __u64, 3);
GPUBPF_HASH(table, __u64, __u64, 4);
GPUBPF_HASH(copied, __u64, __u64, 8);
GPUBPF_HASH(gone, __u32, __u64, 4);
GPUBPF_HASH(empty, __u64, __u64, 2);

static long of_index(void *map, __u32 *key, __u64 *value, struct seen *seen)
{
	*value += 10 * *key;
	return note(seen, *key, *value);
}

/* A callback may pass its key argument to a function, and to helpers that read the key. */
static __noinline __u64 first(const __u64 *key)
{
	return *key;
}

static long of_long(void *map, __u64 *key, __u64 *value, struct seen *seen)
{
	__u64 more = *value + 2;

	bpf_map_update_elem(map, key, &more, BPF_EXIST);
	bpf_map_update_elem(&copied, key, value, BPF_ANY);
	return note(seen, first(key), *value);
}

static long of_two(void *map, __u32 *key, __u64 *value, struct seen *seen)
{
	if (*key & 1)
		bpf_map_delete_elem(map, key);
	return note(seen, *key, *value);
}

/* The inner callback of a nested iteration; the outer callback still reads its own key afterwards. */
static long inner(void *map, __u32 *key, __u64 *value, struct seen *seen)
{
	return note(seen, *key, seen->until);
}

static long outer(void *map, __u32 *key, __u64 *value, struct seen *seen)
{
	struct seen in = { .until = 100 };
	long n = bpf_for_each_map_elem(&array, inner, &in, 0);

	return note(seen, *key * in.keys, (__u64)n);
}

static __always_inline void fill(void)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < 4; i++) {
		__u64 key = i + 2, value = 102 + i;
		__u32 two = i + 2;

		bpf_map_update_elem(&table, &key, &value, BPF_ANY);
		bpf_map_update_elem(&gone, &two, &value, BPF_ANY);
	}
}

SEC("gpu/entry/*")
int each(struct gpubpf_ctx *ctx)
{
	struct seen seen = { .until = 2 };
	__u32 two = 2;
	__u64 value = 2;

	fill();
	bpf_map_update_elem(&array, &two, &value, BPF_ANY);
	EACH(array, of_index, 3, 32, 3);
	EACH(table, of_long, 14, 422, 4);
	CHECK(bpf_for_each_map_elem(&table, of_long, &seen, 1), -22);
	CHECK(bpf_for_each_map_elem(&empty, of_long, &seen, 0), 0);
	CHECK(seen.rounds, 0);
	CHECK(bpf_for_each_map_elem(&array, of_index, &seen, 0), 2);
	CHECK(seen.keys, 1);
	EACH(gone, of_two, 14, 414, 4);
	EACH(gone, outer, 18, 6, 2);
	return 0;
}
