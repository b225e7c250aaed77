/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maxima and minima that all threads take. Programs only take extremes of `extremes`, which may have a replica per
 * multiprocessor. `mixed` has one copy, because the program also adds to its values. Numbers are unsigned.
 */
#include "../case.h"

EXPECT("launch 16,1,1 64,1,1");
EXPECT("map extremes[0] 1030");
EXPECT("map extremes[1] 18446744073709551608"); /* ~7: the smallest number is 7 */
EXPECT("map extremes[2] 18446744073709551615");
EXPECT("map extremes[3] 0");
EXPECT("map mixed[0] 1030");
EXPECT("map mixed[1] 1024");
EXPECT("map hashed[3] 1030");

GPUBPF_ARRAY(extremes, __u64, 4);
GPUBPF_ARRAY(mixed, __u64, 2);
GPUBPF_HASH(hashed, __u32, __u64, 8);

SEC("gpu/entry/*")
int take_extremes(struct gpubpf_ctx *ctx)
{
	__u64 n = ctx->global_linear + 7, zero = 0, *word;
	__u32 key = 3;

	gpubpf_max(&extremes, 0, n);
	gpubpf_min(&extremes, 1, n);
	gpubpf_max(&extremes, 2, ctx->global_linear == 500 ? -1ull : 1);
	gpubpf_max(&mixed, 0, n);
	gpubpf_add(&mixed, 1, 1);
	bpf_map_update_elem(&hashed, &key, &zero, BPF_NOEXIST);
	word = bpf_map_lookup_elem(&hashed, &key);
	if (word)
		gpubpf_atomic_max(word, n);
	return 0;
}
