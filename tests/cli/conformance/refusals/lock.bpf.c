/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refused: a lane that spins on a lock. If another lane of its warp holds the lock, that lane may never run to release
 * it.
 */
#include "../case.h"

EXPECT("refused SIMT_WAIT another lane");

GPUBPF_ARRAY(locks, __u64, 1);

SEC("gpu/entry/*")
int lock(struct gpubpf_ctx *ctx)
{
	__u32 key = 0;
	__u64 *found = bpf_map_lookup_elem(&locks, &key);

	if (!found)
		return 0;
	for (int i = 0; i < 1000; i++)
		if (__sync_val_compare_and_swap(found, 0, 1) == 0)
			break;
	return 0;
}
