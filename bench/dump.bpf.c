/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the map that bench/dump.c fills and dumps. */
#include <gpubpf/probe.h>

GPUBPF_HASH(table, __u32, __u64, 1000000);

SEC("gpu/entry/nothing")
int nothing(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&table, &key) != NULL;
}
