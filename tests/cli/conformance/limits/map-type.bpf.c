/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a map type that only the Linux kernel supports. */
#include "../case.h"

EXPECT("refused BAD_MAP type");

struct {
	__uint(type, 8); /* BPF_MAP_TYPE_CGROUP_ARRAY */
	__uint(max_entries, 4);
	__uint(key_size, 4);
	__uint(value_size, 4);
} map SEC(".maps");

SEC("gpu/entry/*")
int program(struct gpubpf_ctx *ctx)
{
	__u64 key = 0;

	return bpf_map_lookup_elem(&map, &key) != NULL;
}
