/* SPDX-License-Identifier: Apache-2.0 */
/* A second object, with a map that can become an inner map of nested.bpf.c's map of maps. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(third, __u64, 1);

SEC("gpu/entry/nothing")
int nothing(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&third, &key) != NULL;
}
