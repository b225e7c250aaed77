/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a deletion from a map that frees the element while another lane may still read it. */
#include "../../case.h"

EXPECT("refused SIMT_FREE");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC */
	__type(key, __u64);
	__type(value, __u64);
} table SEC(".maps");

SEC("gpu/entry/*")
int frees(struct gpubpf_ctx *ctx)
{
	__u64 key = 1;

	return bpf_map_delete_elem(&table, &key);
}
