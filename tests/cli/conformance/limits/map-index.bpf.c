/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: the key of an ARRAY map must have four bytes. */
#include "../case.h"

EXPECT("refused BAD_MAP key_size");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__uint(key_size, 8);
	__uint(value_size, 8);
} map SEC(".maps");

SEC("gpu/entry/*")
int program(struct gpubpf_ctx *ctx)
{
	__u64 key = 0;

	return bpf_map_lookup_elem(&map, &key) != NULL;
}
