/* SPDX-License-Identifier: Apache-2.0 */
/* All threads put different values into a BLOOM_FILTER: none is lost. */
#include "../../case.h"

EXPECT("launch 8,1,1 64,1,1");
EXPECT("checks 1024");

struct {
	__uint(type, BPF_MAP_TYPE_BLOOM_FILTER);
	__uint(max_entries, 512);
	__type(value, __u64);
} set SEC(".maps");

SEC("gpu/entry/*")
int together(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->global_linear * 0x9e3779b97f4a7c15ull;

	CHECK(bpf_map_push_elem(&set, &me, BPF_ANY), 0);
	CHECK(bpf_map_peek_elem(&set, &me), 0);
	return 0;
}
