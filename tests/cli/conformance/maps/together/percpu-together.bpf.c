/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads add to the value of their multiprocessor. Each look-up returns one of the per-CPU values, and no addition
 * is lost.
 */
#include "../../case.h"

EXPECT("launch 8,1,1 32,1,1");
EXPECT("checks 768");
EXPECT("entries table 4");

GPUBPF_MAP(array, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, 1);
GPUBPF_MAP(table, BPF_MAP_TYPE_PERCPU_HASH, __u64, __u64, 64);

SEC("gpu/entry/*")
int together(struct gpubpf_ctx *ctx)
{
	__u64 group = ctx->global_linear & 3, zero = 0, *value;
	__u32 key = 0;

	value = bpf_map_lookup_elem(&array, &key);
	if (value)
		__sync_fetch_and_add(value, 1);
	CHECK(value && *value >= 1 && *value <= 256, 1);
	bpf_map_update_elem(&table, &group, &zero, BPF_NOEXIST);
	value = bpf_map_lookup_elem(&table, &group);
	CHECK(value != NULL, 1);
	if (value)
		__sync_fetch_and_add(value, 1);
	CHECK(value && *value >= 1 && *value <= 64, 1);
	return 0;
}
