/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads insert their own prefix and a shared one into an LPM_TRIE. Each look-up finds the longest matching
 * prefix.
 */
#include "../../case.h"

EXPECT("launch 8,1,1 64,1,1");
EXPECT("checks 2048");
EXPECT("entries prefixes 513");

struct prefix {
	__u32 length;
	__u8 data[4];
};
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u64);
} prefixes SEC(".maps");

SEC("gpu/entry/*")
int together(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->global_linear, all = 1000, *found;
	struct prefix mine = { 32, { 10, me >> 8, me, 1 } }, ours = { 8, { 10 } };

	CHECK(bpf_map_update_elem(&prefixes, &mine, &me, BPF_NOEXIST), 0);
	CHECK(bpf_map_update_elem(&prefixes, &ours, &all, BPF_ANY), 0);
	found = bpf_map_lookup_elem(&prefixes, &mine);
	CHECK(found ? *found : ~me, me);
	mine.data[3] = 2;
	found = bpf_map_lookup_elem(&prefixes, &mine);
	CHECK(found ? *found : ~me, all);
	return 0;
}
