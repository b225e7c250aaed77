/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_for_each_map_elem() (helper 164) in one thread, on map types other than ARRAY and HASH, with keys of all sizes.
 */
#include "each.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 15");

struct name {
	__u32 word[3];
};

GPUBPF_MAP(percpu_array, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, 2);
GPUBPF_MAP(percpu, BPF_MAP_TYPE_PERCPU_HASH, __u16, __u64, 3);
GPUBPF_MAP(lru, BPF_MAP_TYPE_LRU_HASH, struct name, __u64, 4);
GPUBPF_MAP(lru_percpu, BPF_MAP_TYPE_LRU_PERCPU_HASH, __u8, __u64, 4);

static long of_index(void *map, __u32 *key, __u64 *value, struct seen *seen)
{
	*value += 10 * *key;
	return note(seen, *key, *value);
}

static long of_short(void *map, __u16 *key, __u64 *value, struct seen *seen)
{
	return note(seen, *key, *value);
}

static long of_byte(void *map, __u8 *key, __u64 *value, struct seen *seen)
{
	return note(seen, *key, *value);
}

static long of_name(void *map, struct name *key, __u64 *value, struct seen *seen)
{
	return note(seen, key->word[0] + 100 * key->word[1] + 10000 * key->word[2], *value);
}

static __always_inline void fill(void)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < 5; i++) {
		__u64 value = 102 + i;
		__u16 pair = (__u16)(i + 2);
		__u8 byte = (__u8)(i + 2);
		struct name name = { { i, 2 * i, 3 * i } };

		bpf_map_update_elem(&percpu, &pair, &value, BPF_ANY); /* three fit */
		bpf_map_update_elem(&lru, &name, &value, BPF_ANY);    /* evicts the first */
		bpf_map_update_elem(&lru_percpu, &byte, &value, BPF_ANY);
	}
}

SEC("gpu/entry/*")
int each_kind(struct gpubpf_ctx *ctx)
{
	fill();
	EACH(percpu_array, of_index, 1, 10, 2);
	EACH(percpu_array, of_index, 1, 20, 2);
	EACH(percpu, of_short, 9, 309, 3);
	EACH(lru, of_name, 10 * 30201, 418, 4);
	EACH(lru_percpu, of_byte, 18, 418, 4);
	return 0;
}
