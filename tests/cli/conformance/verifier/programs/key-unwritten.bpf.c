/* SPDX-License-Identifier: Apache-2.0 */
/* Refused: a look-up with a key that has four uninitialised bytes. */
#include "../../case.h"

EXPECT("refused UNINIT_STACK");

GPUBPF_HASH(table, __u64, __u64, 4);

SEC("gpu/entry/*")
int key_unwritten(struct gpubpf_ctx *ctx)
{
	__u64 key;

	*(volatile __u32 *)&key = 1;
	return bpf_map_delete_elem(&table, &key);
}
