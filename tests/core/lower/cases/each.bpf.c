/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_for_each_map_elem() (helper 164): a short key, and a count in the caller's stack that the callback adds to, stay
 * in registers.
 */
#include <gpubpf/probe.h>

GPUBPF_HASH(table, __u64, __u64, 64);
GPUBPF_ARRAY(out, __u64, 2);

static long each(void *map, __u64 *key, __u64 *value, __u64 *sum)
{
	*sum += *key * *value;
	return 0;
}

SEC("gpu/entry/*")
int count(struct gpubpf_ctx *ctx)
{
	__u64 sum = 0;

	gpubpf_add(&out, 0, bpf_for_each_map_elem(&table, each, &sum, 0));
	gpubpf_add(&out, 1, sum);
	return 0;
}
