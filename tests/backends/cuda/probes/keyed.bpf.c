/* SPDX-License-Identifier: Apache-2.0 */
/* Counts threads per block in a hash map of 64 keys. The program has loops and locks, and combines adds of lanes. */
#include <gpubpf/probe.h>

GPUBPF_HASH(threads, __u64, __u64, 1024);

SEC("gpu/exit/*")
int keyed(struct gpubpf_ctx *ctx)
{
	__u64 key = gpubpf_block_linear(ctx) % 64, none = 0, *n = bpf_map_lookup_elem(&threads, &key);

	if (!n) {
		bpf_map_update_elem(&threads, &key, &none, BPF_NOEXIST);
		n = bpf_map_lookup_elem(&threads, &key);
	}
	if (n)
		gpubpf_count(n, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
