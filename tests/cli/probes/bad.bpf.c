/* SPDX-License-Identifier: Apache-2.0 */
/* An unsafe program: it does not check the result of the look-up for NULL. */
#include <gpubpf/probe.h>

GPUBPF_HASH(counts, __u64, __u64, 16);

SEC("gpu/entry/*")
int unsafe(struct gpubpf_ctx *ctx)
{
	__u64 key = ctx->launch;
	__u64 *value = bpf_map_lookup_elem(&counts, &key);

	*value += 1;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
