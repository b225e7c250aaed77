/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of more than 64 bytes, which an update copies directly from their memory: another map's value, global data,
 * the stack.
 */
#include "../case.h"

EXPECT("launch 2,1,1 32,1,1");
EXPECT("map kept[1] { .word = { 101, 102, 103, 104, 105, 106, 107, 108, 109, 110 } }");
EXPECT("map kept[2] { .word = { 201, 202, 203, 204, 205, 206, 207, 208, 209, 210 } }");
EXPECT("map kept[3] { .word = { 301, 302, 303, 304, 305, 306, 307, 308, 309, 310 } }");
EXPECT("map row[0] { .word = { 201, 202, 203, 204, 205, 206, 207, 208, 209, 210 } }");
EXPECT("checks 256");

#define WORDS 10
struct long_value {
	__u64 word[WORDS];
};
GPUBPF_HASH(kept, __u32, struct long_value, 8);
GPUBPF_ARRAY(from, struct long_value, 2);
GPUBPF_ARRAY(row, struct long_value, 1);

struct long_value global = { { 201, 202, 203, 204, 205, 206, 207, 208, 209, 210 } };

SEC("gpu/entry/*")
int prepare(struct gpubpf_ctx *ctx)
{
	__u32 key = 1;
	struct long_value *v = bpf_map_lookup_elem(&from, &key);

	for (int i = 0; v && i < WORDS; i++)
		v->word[i] = 101 + i;
	return 0;
}

SEC("gpu/entry/*")
int store(struct gpubpf_ctx *ctx)
{
	struct long_value mine;
	__u32 key = 1;
	struct long_value *v = bpf_map_lookup_elem(&from, &key);

	for (int i = 0; i < WORDS; i++)
		mine.word[i] = 301 + i;
	if (!v)
		return 0;
	CHECK(bpf_map_update_elem(&kept, &key, v, BPF_ANY), 0);
	key = 2;
	CHECK(bpf_map_update_elem(&kept, &key, &global, BPF_ANY), 0);
	key = 3;
	CHECK(bpf_map_update_elem(&kept, &key, &mine, BPF_ANY), 0);
	key = 0;
	CHECK(bpf_map_update_elem(&row, &key, &global, BPF_ANY), 0);
	return 0;
}
