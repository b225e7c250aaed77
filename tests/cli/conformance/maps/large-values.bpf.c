/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of 64 KiB, larger than a BPF stack: a program updates hash tables and arrays with a value that another map
 * holds.
 */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 24");

#define WORDS 8192

struct value {
	__u64 word[WORDS];
};
GPUBPF_ARRAY(from, struct value, 2);
GPUBPF_ARRAY(to, struct value, 2);
GPUBPF_HASH(table, __u32, struct value, 2);
GPUBPF_MAP(lanes, BPF_MAP_TYPE_PERCPU_HASH, __u32, struct value, 2);

/* insert, look up, replace, look up */
#define ROUND(map, insert, first) do { \
		struct value *v; \
		whole->word[0] = first; \
		whole->word[WORDS - 1] = first + 1; \
		CHECK(bpf_map_update_elem(&map, &key, whole, insert), 0); \
		v = bpf_map_lookup_elem(&map, &key); \
		CHECK(v != 0, 1); \
		if (!v) \
			return 0; \
		CHECK(v->word[0], first); \
		CHECK(v->word[WORDS / 2], 77); \
		CHECK(v->word[WORDS - 1], first + 1); \
		whole->word[WORDS - 1] = first + 2; \
		CHECK(v->word[WORDS - 1], first + 1); \
		CHECK(bpf_map_update_elem(&map, &key, whole, BPF_EXIST), 0); \
		CHECK(v->word[WORDS - 1], first + 2); \
	} while (0)

SEC("gpu/entry/*")
int copies(struct gpubpf_ctx *ctx)
{
	__u32 key = 1;
	struct value *whole = bpf_map_lookup_elem(&from, &key);

	if (!whole)
		return 0;
	whole->word[WORDS / 2] = 77;
	ROUND(to, BPF_ANY, 10);
	ROUND(table, BPF_NOEXIST, 20);
	ROUND(lanes, BPF_NOEXIST, 30);
	return 0;
}
