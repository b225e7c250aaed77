/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_map_delete_elem() on a hash map. */
#include <gpubpf/probe.h>

GPUBPF_HASH(table, __u64, __u32, 64);

SEC("gpu/entry/*")
int forget(struct gpubpf_ctx *ctx)
{
	__u64 key = ctx->global_linear;
	__u32 one = 1;

	if (bpf_map_update_elem(&table, &key, &one, BPF_NOEXIST))
		bpf_map_delete_elem(&table, &key);
	return 0;
}
