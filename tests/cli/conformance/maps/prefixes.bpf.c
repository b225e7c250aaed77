/* SPDX-License-Identifier: Apache-2.0 */
/* LPM_TRIE: the longest matching prefix, every error, and a full map. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 17");
EXPECT("entries prefixes 4");

struct prefix {
	__u32 length;
	__u8 data[4];
};
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 4);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u64);
} prefixes SEC(".maps");

static __always_inline long put(__u32 length, __u8 a, __u8 b, __u64 value, __u64 flags)
{
	struct prefix p = { length, { a, b } };

	return bpf_map_update_elem(&prefixes, &p, &value, flags);
}

static __always_inline __u64 find(__u32 length, __u8 a, __u8 b, __u8 c)
{
	struct prefix p = { length, { a, b, c } };
	__u64 *value = bpf_map_lookup_elem(&prefixes, &p);

	return value ? *value : 0;
}

SEC("gpu/entry/*")
int prefix(struct gpubpf_ctx *ctx)
{
	CHECK(find(32, 10, 1, 1), 0);
	CHECK(put(8, 10, 0, 8, BPF_ANY), 0);
	CHECK(put(16, 10, 1, 16, BPF_NOEXIST), 0);
	CHECK(put(16, 10, 1, 17, BPF_NOEXIST), -17);
	CHECK(put(16, 10, 1, 18, BPF_EXIST), 0);
	CHECK(put(16, 10, 2, 19, BPF_EXIST), -2);
	CHECK(put(33, 10, 1, 1, BPF_ANY), -22);
	CHECK(put(8, 10, 1, 1, 3), -22);
	CHECK(find(32, 10, 1, 200), 18);
	CHECK(find(32, 10, 2, 200), 8);
	CHECK(find(15, 10, 1, 0), 8);
	CHECK(find(7, 10, 0, 0), 0);
	CHECK(find(32, 11, 1, 1), 0);
	CHECK(put(15, 10, 2, 15, BPF_ANY), 0);
	CHECK(find(32, 10, 3, 9), 15);
	CHECK(put(0, 0, 0, 99, BPF_ANY), 0);
	CHECK(put(9, 128, 0, 1, BPF_ANY), -28);
	return 0;
}
