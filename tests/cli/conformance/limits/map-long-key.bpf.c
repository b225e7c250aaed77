/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a map with a key of more than 512 bytes. */
#include "../case.h"

EXPECT("refused BAD_MAP key_size");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__uint(key_size, 520);
	__uint(value_size, 8);
} map SEC(".maps");

SEC("gpu/entry/*")
int program(struct gpubpf_ctx *ctx)
{
	__u64 key = 0;

	return bpf_map_lookup_elem(&map, &key) != NULL;
}
