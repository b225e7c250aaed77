/* SPDX-License-Identifier: Apache-2.0 */
/* All threads run atomics on the same words: or, and, xor, exchange, compare and exchange. No operation is lost. */
#include "../../case.h"

EXPECT("launch 4,1,1 64,1,1");
EXPECT("map words[0] 18446744073709551615");
EXPECT("map words[1] 0");
EXPECT("map words[2] 0");
EXPECT("map words[3] 256");
EXPECT("map words[4] 1");
EXPECT("map first[0] 1"); /* number of threads whose compare and exchange found the initial 0 */
EXPECT("map first[1] 1");
EXPECT("map first[2] 32640"); /* 0 + 1 + ... + 255 */

GPUBPF_ARRAY(words, __u64, 6);
GPUBPF_ARRAY(first, __u64, 3);

static __always_inline __u64 *word(__u32 key)
{
	return bpf_map_lookup_elem(&words, &key);
}

SEC("gpu/entry/*")
int prepare(struct gpubpf_ctx *ctx)
{
	__u64 *w = word(1);

	if (w)
		__sync_fetch_and_or(w, 0);
	return 0;
}

SEC("gpu/entry/*")
int together(struct gpubpf_ctx *ctx)
{
	__u64 bit = 1ull << (ctx->thread_idx[0] & 63), *w;

	if ((w = word(0)))
		__sync_fetch_and_or(w, bit);
	if ((w = word(1))) {
		__sync_fetch_and_or(w, bit);
		__sync_fetch_and_and(w, ~bit);
	}
	if ((w = word(2))) {
		/* one thread of each of the four blocks flips this bit, so it is 0 at the end */
		__sync_fetch_and_xor(w, bit);
	}
	if ((w = word(3)))
		gpubpf_add(&first, 2, __sync_fetch_and_add(w, 1));
	if ((w = word(4)) && __sync_val_compare_and_swap(w, 0, 1) == 0)
		gpubpf_add(&first, 0, 1);
	if ((w = word(5)) && __sync_lock_test_and_set(w, 1) == 0)
		gpubpf_add(&first, 1, 1);
	return 0;
}
