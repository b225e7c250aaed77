/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a look-up in a map of maps, whose result the program uses without a check for NULL. */
#include "../case.h"

EXPECT("refused NULL_DEREF may be NULL");

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct inner);
} maps SEC(".maps");

SEC("gpu/entry/*")
int null_map(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(bpf_map_lookup_elem(&maps, &key), &key) != NULL;
}
