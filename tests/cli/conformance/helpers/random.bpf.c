/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_get_prandom_u32() (helper 7) returns 32-bit numbers that differ between GPU threads. */
#include "../case.h"

EXPECT("launch 4,1,1 16,1,1");
EXPECT("checks 64");
EXPECT("map many[0] 1");

GPUBPF_ARRAY(bits, __u64, 1);
GPUBPF_ARRAY(many, __u32, 1);

SEC("gpu/entry/*")
int random(struct gpubpf_ctx *ctx)
{
	__u64 value = bpf_get_prandom_u32(), *all;
	__u32 key = 0, *found;

	CHECK(value >> 32, 0);
	all = bpf_map_lookup_elem(&bits, &key);
	found = bpf_map_lookup_elem(&many, &key);
	if (!all || !found)
		return 0;
	if (__sync_fetch_and_or(all, 1ull << (value & 63)) & ~(1ull << (value & 63)))
		*found = 1;
	return 0;
}
