/* SPDX-License-Identifier: Apache-2.0 */
/* An array and a hash table with summed values, to which GPU programs and the host add. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(sums, __u64, 4);
GPUBPF_HASH(by_key, __u64, __u64, 2048);

SEC("gpu/entry/*")
int add(struct gpubpf_ctx *ctx)
{
	__u64 key = ctx->global_linear, zero = 0, *value;

	gpubpf_add(&sums, key & 3, 1);
	bpf_map_update_elem(&by_key, &key, &zero, BPF_NOEXIST);
	value = bpf_map_lookup_elem(&by_key, &key);
	if (value)
		__sync_fetch_and_add(value, 1);
	return 0;
}
