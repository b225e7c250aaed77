/* SPDX-License-Identifier: Apache-2.0 */
/* BLOOM_FILTER: a pushed value is found, an absent value is not, and the operations return every possible error. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 6");

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 100);
	__uint(map_extra, 3);
	__type(value, __u64);
} set SEC(".maps");

SEC("gpu/entry/*")
int bloom(struct gpubpf_ctx *ctx)
{
	__u64 one = 1, two = 2;

	CHECK(bpf_map_peek_elem(&set, &one), -2);
	CHECK(bpf_map_push_elem(&set, &one, BPF_EXIST), -22);
	CHECK(bpf_map_peek_elem(&set, &one), -2);
	CHECK(bpf_map_push_elem(&set, &one, BPF_ANY), 0);
	CHECK(bpf_map_peek_elem(&set, &one), 0);
	CHECK(bpf_map_peek_elem(&set, &two), -2);
	return 0;
}
