/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that differ only in their last byte are different keys. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 32");
EXPECT("entries table 16");

struct key {
	__u64 same[3];
	__u32 more;
	__u8 pad[3], last;
};
GPUBPF_HASH(table, struct key, __u64, 64);

SEC("gpu/entry/*")
int keys(struct gpubpf_ctx *ctx)
{
	struct key key = { { 1, 2, 3 }, 4, { 0 }, 0 };
	__u64 *found;

	for (__u64 i = 0; i < 16; i++) {
		key.last = i << 4;
		CHECK(bpf_map_update_elem(&table, &key, &i, BPF_NOEXIST), 0);
	}
	for (__u64 i = 0; i < 16; i++) {
		key.last = i << 4;
		found = bpf_map_lookup_elem(&table, &key);
		CHECK(found ? *found : 99, i);
	}
	return 0;
}
