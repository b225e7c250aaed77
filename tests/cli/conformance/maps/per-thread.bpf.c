/* SPDX-License-Identifier: Apache-2.0 */
/* A map with a private value for each GPU thread. */
#include "../case.h"

EXPECT("launch 8,1,1 32,1,1");
EXPECT("checks 512");

GPUBPF_PER_THREAD(mine, __u64);

SEC("gpu/entry/*")
int write(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->global_linear + 1, *value;
	__u32 key = 0;

	value = bpf_map_lookup_elem(&mine, &key);
	CHECK(value ? *value : 1, 0);
	if (value)
		*value = me;
	return 0;
}

SEC("gpu/entry/*")
int read(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	__u64 *value = bpf_map_lookup_elem(&mine, &key);

	CHECK(value ? *value : 0, ctx->global_linear + 1);
	return 0;
}
