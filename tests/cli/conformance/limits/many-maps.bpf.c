/* SPDX-License-Identifier: Apache-2.0 */
/* Thirty-two separate maps in one object. */
#include "../case.h"

EXPECT("launch 1,1,1 8,1,1");
EXPECT("checks 256");
EXPECT("map map_00[0] 8");
EXPECT("map map_37[0] 256");

#define EACH8(of, n) of(n##0) of(n##1) of(n##2) of(n##3) of(n##4) of(n##5) of(n##6) of(n##7)
#define EACH(of) EACH8(of, 0) EACH8(of, 1) EACH8(of, 2) EACH8(of, 3)
#define OCTAL(n) (0##n)
#define DEFINE(n) GPUBPF_ARRAY(map_##n, __u64, 1);
EACH(DEFINE)

SEC("gpu/entry/*")
int many(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	__u64 *value;

#define ADD(n) \
	value = bpf_map_lookup_elem(&map_##n, &key); \
	CHECK(value != NULL, 1); \
	if (value) \
		__sync_fetch_and_add(value, OCTAL(n) + 1);
	EACH(ADD)
	return 0;
}
