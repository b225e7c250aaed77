/* SPDX-License-Identifier: Apache-2.0 */
/* A value with several members, which programs write as one object and member by member. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 6");
EXPECT("map values[1] { .wide = 81985529216486895, .word = 2271560481, .half = 4660, .byte = 86, .pad = 0 }");

struct value {
	__u64 wide;
	__u32 word;
	__u16 half;
	__u8 byte;
	__u8 pad;
};
GPUBPF_ARRAY(values, struct value, 2);

SEC("gpu/entry/*")
int members(struct gpubpf_ctx *ctx)
{
	struct value whole = { 1, 2, 3, 4 }, *found;
	__u32 key = 1;

	CHECK(bpf_map_update_elem(&values, &key, &whole, BPF_ANY), 0);
	found = bpf_map_lookup_elem(&values, &key);
	CHECK(found != 0, 1);
	if (!found)
		return 0;
	CHECK(found->wide, 1);
	CHECK(found->word, 2);
	CHECK(found->half, 3);
	CHECK(found->byte, 4);
	found->wide = 0x0123456789abcdef;
	found->word = 0x87654321;
	found->half = 0x1234;
	found->byte = 0x56;
	return 0;
}
