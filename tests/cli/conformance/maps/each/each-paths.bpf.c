/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_for_each_map_elem() (helper 164): on a map chosen at run time, nested, and with the key or the stack as an
 * argument.
 */
#include "../../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 10");

GPUBPF_ARRAY(values, __u64, 3);
GPUBPF_MAP(one, BPF_MAP_TYPE_HASH, __u32, __u64, 4);
GPUBPF_MAP(other, BPF_MAP_TYPE_LRU_HASH, __u32, __u64, 8);

static __noinline __u64 read(const __u32 *from)
{
	return *from;
}

static long add_key(void *map, __u32 *key, __u64 *value, __u64 *sum)
{
	__u32 seven = 7;

	*sum += read(*value & 1 ? key : &seven) + *value;
	return *sum > 1000;
}

static long add_all(void *map, __u32 *key, __u64 *value, __u64 *sum)
{
	__u64 in = *key;

	bpf_for_each_map_elem(&one, add_key, &in, 0);
	*sum += in + *key;
	return 0;
}

static __always_inline void fill(__u64 odd)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < 6; i++) {
		__u64 value = 10 * i + odd;

		bpf_map_update_elem(&one, &i, &value, BPF_ANY);
		bpf_map_update_elem(&other, &i, &value, BPF_ANY);
	}
}

SEC("gpu/entry/*")
int each_paths(struct gpubpf_ctx *ctx)
{
#pragma clang loop unroll(disable)
	for (__u64 odd = 0; odd < 2; odd++) {
		__u64 sum = 0;

		fill(odd);
		CHECK(bpf_for_each_map_elem(odd ? (void *)&one : (void *)&other, add_key, &sum, 0), odd ? 4 : 6);
		CHECK(sum, odd ? 4 + 60 + 6 : 42 + 150);
		sum = 0;
		CHECK(bpf_for_each_map_elem(&values, add_all, &sum, 0), 3);
		CHECK(sum, odd ? 3 * (60 + 4 + 6) + 6 : 3 * (60 + 28) + 6);
		CHECK(bpf_for_each_map_elem(&values, add_all, &sum, 2), -22);
	}
	return 0;
}
