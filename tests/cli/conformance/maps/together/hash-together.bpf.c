/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads update one hash table. Exactly one thread creates each shared key, no update is lost, and other threads
 * do not change a thread's private key.
 */
#include "../../case.h"

EXPECT("launch 8,1,1 64,1,1");
EXPECT("checks 1024");
EXPECT("entries own 512");
EXPECT("map made[0] 8");
EXPECT("entries shared 8");
EXPECT("map shared[5] 64");

GPUBPF_HASH(own, __u64, __u64, 1024);
GPUBPF_HASH(shared, __u64, __u64, 64);
GPUBPF_ARRAY(made, __u64, 1);

SEC("gpu/entry/*")
int together(struct gpubpf_ctx *ctx)
{
	__u64 me = ctx->global_linear, group = me & 7, zero = 0, *found;

	CHECK(bpf_map_update_elem(&own, &me, &me, BPF_NOEXIST), 0);
	found = bpf_map_lookup_elem(&own, &me);
	CHECK(found ? *found : ~me, me);
	if (bpf_map_update_elem(&shared, &group, &zero, BPF_NOEXIST) == 0)
		gpubpf_add(&made, 0, 1);
	found = bpf_map_lookup_elem(&shared, &group);
	if (found)
		__sync_fetch_and_add(found, 1);
	return 0;
}
