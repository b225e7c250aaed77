/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps with a million values, values of 4 KiB, and keys of 256 bytes: the last value is accessible, and no value after
 * it.
 */
#include "../case.h"

EXPECT("launch 2,1,1 32,1,1");
EXPECT("checks 448");
EXPECT("map values[1048575] 64");
EXPECT("entries table 64");

struct page {
	__u64 words[512];
};
struct name {
	__u64 words[32];
};
GPUBPF_ARRAY(values, __u64, 1 << 20);
GPUBPF_ARRAY(pages, struct page, 64);
GPUBPF_HASH(table, struct name, __u32, 64);

SEC("gpu/entry/*")
int large(struct gpubpf_ctx *ctx)
{
	__u32 last = (1 << 20) - 1, past = 1 << 20, me = ctx->global_linear, *found;
	struct page *page = bpf_map_lookup_elem(&pages, &me);
	struct name name = {};
	__u64 *value = bpf_map_lookup_elem(&values, &last);

	CHECK(value != NULL, 1);
	if (value)
		__sync_fetch_and_add(value, 1);
	CHECK(bpf_map_lookup_elem(&values, &past) == NULL, 1);
	CHECK(page != NULL, 1);
	if (page) {
		page->words[511] = me;
		page->words[0] = ~(__u64)me;
		CHECK(page->words[511], me);
	}
	name.words[31] = me;
	CHECK(bpf_map_update_elem(&table, &name, &me, BPF_NOEXIST), 0);
	found = bpf_map_lookup_elem(&table, &name);
	CHECK(found ? *found : ~me, me);
	name.words[0] = 1;
	CHECK(bpf_map_lookup_elem(&table, &name) == NULL, 1);
	return 0;
}
