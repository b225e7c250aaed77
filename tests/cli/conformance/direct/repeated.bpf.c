/* SPDX-License-Identifier: Apache-2.0 */
/* The launches of a repeated direct run share the data and the maps. */
#include "../case.h"

EXPECT("run");
EXPECT("launch 2,1,1 WARP,1,1");
EXPECT("launches 3");
EXPECT("data 16");
EXPECT("word 0 3*THREADS");
EXPECT("word 1 2");
EXPECT("result 2");
EXPECT("map total[0] 6*THREADS");

GPUBPF_ARRAY(total, __u64, 1);

SEC("gpu/run/repeated")
int repeated(struct gpubpf_ctx *ctx)
{
	__u64 *count = gpubpf_data(0, 8), *word = gpubpf_data(8, 8);

	gpubpf_add(&total, 0, 2);
	if (count)
		__sync_fetch_and_add(count, 1);
	if (word && !ctx->global_linear)
		*word = 2;
	return word ? *(volatile __u64 *)word & 2 : 0;
}
