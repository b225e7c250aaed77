/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object for bpftool that both the Linux kernel and a session can load. Its maps and global data have named types.
 */
#include "../../../core/load/ints.h"

#include <bpf/bpf_helpers.h>

struct place {
	__u32 x, y;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, struct place);
	__type(value, __u64);
} places SEC(".maps");

const volatile __u32 limit = 7;
__u64 total = 5;

SEC("kprobe/step_one")
int tool(void *ctx)
{
	struct place at = { limit, 2 };
	__u64 *n = bpf_map_lookup_elem(&places, &at);

	if (n)
		__sync_fetch_and_add(n, 1);
	__sync_fetch_and_add(&total, limit);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
