/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counter: a single atomic add, which ptxas merges per warp. The code needs no local memory and does not load the
 * constant.
 */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(counts, __u64, 1);

SEC("gpu/entry/*")
int count(void *ctx)
{
	__u64 *value;
	__u32 key = 0;

	value = bpf_map_lookup_elem(&counts, &key);
	if (value)
		__sync_fetch_and_add(value, 1);
	return 0;
}
